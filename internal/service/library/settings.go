package library

import (
	"context"
	"time"

	"cairn/internal/domain/settings"
)

// Approval says whose changes of skills wait for a person.
type Approval string

const (
	// ApproveNone stages nothing for its writer's sake: what ownership forbids is
	// refused. Risky and tainted changes wait nevertheless.
	ApproveNone Approval = "off"
	// ApproveForeign stages an autonomous change of a skill that autonomous
	// writers do not manage. Their own creations and changes need no approval.
	ApproveForeign Approval = "autonomous"
	// ApproveAll stages every write but a person's.
	ApproveAll Approval = "all"
)

// Settings are what a workspace decides about changes of its skills.
type Settings struct {
	Approval          Approval
	MaxSkills         int // that are neither archived nor deleted
	WritesPerHour     int // of all tools together
	AutonomousPerHour int // of these, by writers that nobody watches
	UndoDays          int // in which a delete can be taken back; 0 keeps nothing
}

// undo is how long a delete can be taken back.
func (s Settings) undo() time.Duration { return time.Duration(s.UndoDays) * 24 * time.Hour }

// DefaultSettings are those of a workspace that has decided nothing.
func DefaultSettings() Settings {
	return Settings{Approval: ApproveForeign, MaxSkills: 300, WritesPerHour: 30, AutonomousPerHour: 6, UndoDays: 7}
}

// WorkspaceSettings takes the settings of a workspace from all that it decides. A
// workspace whose gate is unknown has every write approved.
func WorkspaceSettings(
	read func(ctx context.Context, ws int64) (settings.Settings, error),
) func(ctx context.Context, ws int64) (Settings, error) {
	return func(ctx context.Context, ws int64) (Settings, error) {
		s, err := read(ctx, ws)
		out := Settings{Approval: ApproveAll, MaxSkills: s.Limits.ActiveSkills, WritesPerHour: s.Limits.SkillWritesHour,
			AutonomousPerHour: s.Limits.AutonomousSkillWritesHour, UndoDays: s.Limits.UndoDays}
		switch s.WriteApproval.Skills {
		case settings.GateOff, "":
			out.Approval = ApproveNone
		case settings.GateAutonomous:
			out.Approval = ApproveForeign
		}
		return out, err
	}
}

// settings are those of ws.
func (l *Library) settings(ctx context.Context, ws int64) (Settings, error) {
	if l.Settings == nil {
		return DefaultSettings(), nil
	}
	return l.Settings(ctx, ws)
}

// Writes are how often skills were changed, or changes of them proposed, within an hour.
type Writes struct{ All, Autonomous int }
