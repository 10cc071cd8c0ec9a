// Package curate looks after skills that were made while nobody watched: those
// that nobody uses grow stale and are archived, those that are used again come
// back, and those that say nearly the same are reported. It deletes nothing, asks
// no model, and leaves alone what a person made, adopted or pinned, and what a
// scheduled prompt names.
package curate

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/ports"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
)

// Action is what is done to a skill.
type Action string

const (
	Stale   Action = "stale"   // nobody uses it: the last in prompts
	Archive Action = "archive" // out of use; its name and history stay
	Restore Action = "restore" // it is used again
)

// to is the state that an action leads to.
func (a Action) to() skill.Status {
	return map[Action]skill.Status{Stale: skill.Stale, Archive: skill.Archived, Restore: skill.Active}[a]
}

// Skill is one that may be curated, as far as the rules look at it. Times are
// ages by the database's clock.
type Skill struct {
	ID          int64
	Name        string
	Status      skill.Status
	Managed     bool
	Pinned      bool
	Scheduled   bool // a scheduled prompt names it
	Eta         float64
	Trials      int
	Unused      time.Duration // since it was used last, or its version was written
	Unchanged   time.Duration // since its state or its pin was set
	Description string
	BodySHA     string
}

// SkillChange is what is done to one skill, and why.
type SkillChange struct {
	Skill  int64        `json:"skill"`
	Name   string       `json:"name"`
	Action Action       `json:"action" enum:"stale,archive,restore"`
	Was    skill.Status `json:"was"`
	Reason string       `json:"reason"`
}

// Report is what came of a curation, or would.
type Report struct {
	DryRun  bool          `json:"dry_run"`
	Looked  int           `json:"looked" doc:"Skills that the rules are about"`
	Kept    int           `json:"kept" doc:"Of a person, pinned, or named by a scheduled prompt: left alone"`
	Changes []SkillChange `json:"changes"`
	Similar []SimilarPair `json:"similar" doc:"Skills that say nearly the same: nothing is done to them"`
}

// Count counts the changes of a kind.
func (r Report) Count(a Action) (n int) {
	for _, c := range r.Changes {
		if c.Action == a {
			n++
		}
	}
	return n
}

// Tx is a workspace's skills inside one transaction.
type Tx interface {
	CuratedSkills(ctx context.Context) ([]Skill, error) // active and stale ones
	SetStatus(ctx context.Context, id int64, was, status skill.Status) error
	Settings(ctx context.Context) (settings.Settings, error)
}

// Store opens transactions.
type Store interface {
	WithCuration(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Ports are what the service works with.
type Ports struct {
	Store    Store
	Embedder Embedder
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("curate", map[string]any{"Store": p.Store, "Embedder": p.Embedder})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Curate applies the rules to a workspace, or only tells what they would do. A
// second time right after the first changes nothing.
func (s *Service) Curate(ctx context.Context, ws int64, dryRun bool) (out Report, err error) {
	var skills []Skill
	err = s.Store.WithCuration(ctx, ws, func(ctx context.Context, tx Tx) error {
		chosen, err := tx.Settings(ctx)
		if err != nil {
			return err
		}
		if skills, err = tx.CuratedSkills(ctx); err != nil {
			return err
		}
		out = Report{DryRun: dryRun, Changes: []SkillChange{}}
		for _, k := range skills {
			if !k.Managed || k.Pinned || k.Scheduled {
				out.Kept++
				continue
			}
			out.Looked++
			c, due := Decide(k, chosen.Curation)
			if !due {
				continue
			}
			out.Changes = append(out.Changes, c)
			if dryRun {
				continue
			}
			if err := tx.SetStatus(ctx, k.ID, c.Was, c.Action.to()); err != nil {
				return fmt.Errorf("%s skill %q: %w", c.Action, k.Name, err)
			}
		}
		return nil
	})
	if err == nil {
		out.Similar = s.similar(ctx, skills)
	}
	return out, err
}

// mercy is how long a skill whose reliability is below the floor is left alone
// after somebody restored or changed it.
const mercy = 7 * 24 * time.Hour

// Decide applies the rules to one skill.
func Decide(k Skill, c settings.Curation) (out SkillChange, due bool) {
	const day = 24 * time.Hour
	stale, archive := time.Duration(c.StaleDays)*day, time.Duration(c.ArchiveDays)*day
	out = SkillChange{Skill: k.ID, Name: k.Name, Was: k.Status}
	days := func(d time.Duration) int { return int(d / day) }
	switch {
	case k.Trials >= c.MinTrials && k.Eta < c.Floor && k.Unchanged >= mercy:
		out.Action, out.Reason = Archive, fmt.Sprintf("reliability %.2f after %d trials is below %.2f", k.Eta, k.Trials,
			c.Floor)
	case k.Status == skill.Stale && k.Unused < stale:
		out.Action, out.Reason = Restore, fmt.Sprintf("used or written %d days ago", days(k.Unused))
	case k.Status == skill.Stale && k.Unused >= archive && k.Unchanged >= archive-stale:
		out.Action, out.Reason = Archive, fmt.Sprintf("not used for %d days", days(k.Unused))
	case k.Status == skill.Active && k.Unused >= stale && k.Unchanged >= stale:
		out.Action, out.Reason = Stale, fmt.Sprintf("not used for %d days", days(k.Unused))
	default:
		return out, false
	}
	return out, true
}
