package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Actions of a write.
const (
	Created   = "created"
	Updated   = "updated"
	Patched   = "patched"
	Unchanged = "unchanged"
	Noop      = "noop" // the patch was already applied
	Staged    = "staged"
	Removed   = "deleted"
	Shelved   = "archived"
)

// EditResult is the result of a save or a patch.
type EditResult struct {
	Action  string
	Name    string
	Version int
	Pending int64 // ID of the pending change, 0 without one
	Notes   []string
	Edit    Edit // of a patch
}

// Edit describes how a patch changed a text.
type Edit struct {
	Replacements int
	Strategy     string // how the old text was matched
	Lines        []int
}

// facts is the state that a write was decided on. The write commits only while it is unchanged.
type facts struct {
	found   bool
	head    skill.Head
	current skill.Version
	viewed  int // latest version that the run has seen
}

// plan is the requested version, checked as far as its text alone allows.
type plan struct {
	version  skill.Version
	action   string // Created, Updated, Patched; Unchanged and Noop write nothing
	notes    []string
	caution  bool // the security scan found a possible risk
	indexed  bool // in the name, the description or the category
	similar  bool // near duplicates are allowed
	edit     Edit
	expected int
}

// intent is one call of a write tool.
type intent struct {
	name string
	args any // arguments in the operation log
	plan func(facts) (plan, error)
}

// errMoved means that the facts changed before the commit.
var errMoved = errors.New("the skill was changed concurrently")

// maxRounds limits how often a write is repeated because of concurrent changes.
const maxRounds = 50

// write prepares a version outside of any transaction and commits it if the facts are unchanged.
// Otherwise it starts again.
func (l *Library) write(ctx context.Context, a agent.Actor, in intent) (EditResult, error) {
	s, err := l.settings(ctx, a.Workspace)
	if err != nil {
		return EditResult{}, err
	}
	for range maxRounds {
		out, err := l.round(ctx, a, s, in)
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
	return EditResult{}, fault.New(fault.Unavailable, fmt.Sprintf("skill %q has too many concurrent changes", in.name),
		"repeat the change")
}

func (l *Library) round(ctx context.Context, a agent.Actor, s Settings, in intent) (out EditResult, err error) {
	f, logged, err := l.facts(ctx, a, in)
	if err != nil {
		return out, err
	}
	if logged != nil {
		return out, decodeLogged(a.Op, logged, &out)
	}
	p, err := in.plan(f)
	if err != nil {
		return out, err
	}
	if p.action == Unchanged || p.action == Noop {
		return l.logOnly(ctx, a, in, EditResult{Action: p.action, Name: f.head.Name, Version: f.head.Version,
			Notes: p.notes, Edit: p.edit})
	}
	d, err := decide(a, s, f, p)
	if err != nil {
		return out, err
	}
	v := &p.version
	if err := l.pack(ctx, a.Workspace, v, f.current.PackageKey); err != nil {
		return out, err
	}
	text := v.SearchText()
	vector := l.embed(ctx, a.Workspace, text)
	var meant []Similar
	if !f.found && !p.similar {
		if meant, err = l.meant(ctx, a.Workspace, *v, vector); err != nil {
			return out, err
		}
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		return once(ctx, tx, a.Op, in.args, &out, func() (EditResult, error) {
			return l.settle(ctx, tx, a, s, f, p, d, indexed{text, vector, meant})
		})
	})
	return out, err
}

// logOnly stores the result of a call that changed nothing, so that a repeated call returns the
// same result.
func (l *Library) logOnly(
	ctx context.Context,
	a agent.Actor,
	in intent,
	result EditResult,
) (out EditResult, err error) {
	if a.Op == "" {
		return result, nil
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		return once(ctx, tx, a.Op, in.args, &out, func() (EditResult, error) { return result, nil })
	})
	return out, err
}

// facts reads the current state, or the logged result of an earlier call.
func (l *Library) facts(ctx context.Context, a agent.Actor, in intent) (f facts, logged json.RawMessage, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if a.Op != "" {
			if logged, _, err = tx.Operations().Logged(ctx, a.Op, in.args); err != nil || logged != nil {
				return err
			}
		}
		f, err = readFacts(ctx, tx, a, in.name)
		return err
	})
	return f, logged, err
}

func readFacts(ctx context.Context, tx store.Tx, a agent.Actor, name string) (f facts, err error) {
	f.head, err = Head(ctx, tx, 0, name)
	if fault.CodeOf(err) == fault.NotFound {
		return facts{}, nil
	}
	if err != nil {
		return f, err
	}
	f.found = true
	if f.current, err = tx.Skills().Version(ctx, f.head.ID, f.head.Version); err != nil || a.Run == "" {
		return f, err
	}
	f.viewed, err = tx.SkillUses().LastView(ctx, a.Run, f.head.ID)
	return f, err
}

// hold reports whether the facts are unchanged.
func (f facts) hold(now facts) bool {
	a, b := f.head, now.head
	return f.found == now.found && a.ID == b.ID && a.Version == b.Version && a.Status == b.Status &&
		a.Pinned == b.Pinned && a.Managed == b.Managed
}
