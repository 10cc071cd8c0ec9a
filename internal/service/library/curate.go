package library

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// CuratorAction is a change of a skill's state.
type CuratorAction string

const (
	Stale   CuratorAction = "stale"   // unused: listed last in prompts
	Archive CuratorAction = "archive" // out of use; name and history are kept
	Restore CuratorAction = "restore" // used again
)

// to returns the state that an action leads to.
func (a CuratorAction) to() skill.Status {
	return map[CuratorAction]skill.Status{Stale: skill.Stale, Archive: skill.Archived, Restore: skill.Active}[a]
}

// SkillChange is one change and its reason.
type SkillChange struct {
	Skill  int64         `json:"skill"`
	Name   string        `json:"name"`
	Action CuratorAction `json:"action" enum:"stale,archive,restore"`
	Was    skill.Status  `json:"was"`
	Reason string        `json:"reason"`
}

// CuratorReport is the result of a curation or of a dry run.
type CuratorReport struct {
	DryRun  bool          `json:"dry_run"`
	Looked  int           `json:"looked" doc:"Skills that were checked"`
	Kept    int           `json:"kept" doc:"Skills left unchanged: owned by a user, pinned, or named by a scheduled prompt"`
	Changes []SkillChange `json:"changes"`
	Similar []SimilarPair `json:"similar" doc:"Pairs of similar skills, reported only"`
}

// Count returns the number of changes with action a.
func (r CuratorReport) Count(a CuratorAction) (n int) {
	for _, c := range r.Changes {
		if c.Action == a {
			n++
		}
	}
	return n
}

// CuratorPorts are the dependencies of the service.
type CuratorPorts struct {
	Store    *store.Store
	Embedder search.Embedder
}

// Curator archives unused skills. Skills that the model saved without a user become stale
// and are archived if they are not used, and are restored if they are used again. Similar skills
// are reported.
//
// Curation deletes nothing and calls no model. It does not change skills that a user created,
// adopted or pinned, nor skills that a scheduled prompt names.
type Curator struct{ CuratorPorts }

// NewCurator returns a Service.
func NewCurator(p CuratorPorts) *Curator {
	return &Curator{CuratorPorts: p}
}

// Curate applies the rules to a workspace. With dryRun it only reports the changes. A repeated call
// right after the first changes nothing.
func (s *Curator) Curate(ctx context.Context, ws int64, dryRun bool) (out CuratorReport, err error) {
	var skills []readmodel.CuratedSkill
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		if skills, err = tx.Curation().CuratedSkills(ctx); err != nil {
			return err
		}
		out = CuratorReport{DryRun: dryRun, Changes: []SkillChange{}}
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
			if err := tx.Skills().SetStatus(ctx, k.ID, c.Was, c.Action.to()); err != nil {
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

// CurateSkills applies the rules and returns the number of changes, for the workflow Curate.
func (s *Curator) CurateSkills(ctx context.Context, in contract.CurateInput) (contract.CurateResult, error) {
	r, err := s.Curate(ctx, in.Workspace, false)
	return contract.CurateResult{
		Staled: r.Count(Stale), Archived: r.Count(Archive), Restored: r.Count(Restore), Similar: len(r.Similar),
	}, err
}

// mercy is the time for which a skill with low reliability is kept after it was restored or changed.
const mercy = 7 * 24 * time.Hour

// Decide applies the rules to one skill. Due is false if no change is needed.
func Decide(k readmodel.CuratedSkill, c settings.Curation) (out SkillChange, due bool) {
	const day = 24 * time.Hour
	stale, archive := time.Duration(c.StaleDays)*day, time.Duration(c.ArchiveDays)*day
	out = SkillChange{Skill: k.ID, Name: k.Name, Was: k.Status}
	days := func(d time.Duration) int { return int(d / day) }
	switch {
	case k.Trials >= c.MinTrials && k.Eta < c.Floor && k.Unchanged >= mercy:
		out.Action, out.Reason = Archive, fmt.Sprintf("reliability %.2f after %d trials is below %.2f", k.Eta, k.Trials,
			c.Floor)
	case k.Status == skill.Stale && k.Unused < stale:
		out.Action, out.Reason = Restore, fmt.Sprintf("last used or written %d days ago", days(k.Unused))
	case k.Status == skill.Stale && k.Unused >= archive && k.Unchanged >= archive-stale:
		out.Action, out.Reason = Archive, fmt.Sprintf("not used for %d days", days(k.Unused))
	case k.Status == skill.Active && k.Unused >= stale && k.Unchanged >= stale:
		out.Action, out.Reason = Stale, fmt.Sprintf("not used for %d days", days(k.Unused))
	default:
		return out, false
	}
	return out, true
}
