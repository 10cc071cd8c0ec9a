package library

import (
	"context"
	"time"

	"cairn/internal/domain/settings"
)

// Approval selects which writers' changes need approval.
type Approval string

const (
	// ApproveNone requires no approval because of the writer. Changes that ownership forbids are
	// rejected. Risky and tainted changes still need approval.
	ApproveNone Approval = "off"
	// ApproveForeign requires approval for autonomous changes of skills that autonomous writers do
	// not manage. Their own skills need none.
	ApproveForeign Approval = "autonomous"
	// ApproveAll requires approval for every write except a user's.
	ApproveAll Approval = "all"
)

// Settings are the settings of a workspace for changes of its skills.
type Settings struct {
	Approval          Approval
	MaxSkills         int // skills that are neither archived nor deleted
	WritesPerHour     int // of all tools together
	AutonomousPerHour int // part of WritesPerHour for autonomous writers
	UndoDays          int // undo period of a deletion in days; 0 disables undo
}

// undo returns the undo period of a deletion.
func (s Settings) undo() time.Duration { return time.Duration(s.UndoDays) * 24 * time.Hour }

// DefaultSettings returns the settings of a workspace without its own.
func DefaultSettings() Settings {
	return Settings{Approval: ApproveForeign, MaxSkills: 300, WritesPerHour: 30, AutonomousPerHour: 6, UndoDays: 7}
}

// WorkspaceSettings converts the settings of a workspace. An unknown approval mode requires
// approval for every write.
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

// settings returns the settings of ws.
func (l *Library) settings(ctx context.Context, ws int64) (Settings, error) {
	if l.Settings == nil {
		return DefaultSettings(), nil
	}
	return l.Settings(ctx, ws)
}
