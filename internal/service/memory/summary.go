package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// SummaryArgs is the summary of the actor's session.
type SummaryArgs struct {
	Content  string          `json:"content"`
	Metadata memory.Metadata `json:"metadata,omitempty"`
	// Targets of the session, in addition to those that the run has registered.
	Targets []memory.Task `json:"targets,omitempty"`
}

// AddSummary stores the summary of the actor's session. A session has one summary: a second
// replaces the first. Search finds it under each of its targets, or under all if it has none.
func (l *LongTermService) AddSummary(ctx context.Context, a agent.Actor, in SummaryArgs) ([]ItemResult, error) {
	m := NewMemory{Content: in.Content, Metadata: in.Metadata}
	risky, refused := checkNew(&m, memory.Summary)
	var texts []string
	if refused == nil {
		texts = []string{m.Content}
	}
	return l.change(ctx, a, "add_summary_memory", in, l.embed(ctx, a, texts),
		func(g *writing) error {
			if refused != nil {
				return refused
			}
			targets, err := g.summaryTargets(ctx, in.Targets)
			if err != nil {
				return err
			}
			item, err := g.summarize(ctx, m, targets, risky)
			return g.addResult(0, item, err)
		})
}

func (g *writing) summarize(ctx context.Context, m NewMemory, targets []string, risky bool) (ItemResult, error) {
	known, found, err := g.tx.LongTerm().DigestOf(ctx, g.a.Subject.History, m.Content)
	if err != nil {
		return ItemResult{}, err
	}
	if !found {
		e := memory.Entry{Type: memory.Summary, Content: m.Content, Metadata: m.Metadata, Targets: targets,
			Author: g.w.Author, Tainted: g.w.Tainted, Status: g.status(risky)}
		if err := g.create(ctx, &e); err != nil {
			return ItemResult{}, err
		}
		if e.Key == 0 {
			return ItemResult{}, errNoID
		}
		if e.Status == memory.Quarantined {
			return ItemResult{ID: e.ID, Status: Staged}, g.refer(ctx, e.Key)
		}
		return ItemResult{ID: e.ID, Status: Added}, g.refer(ctx, e.Key)
	}
	all := union(known.Targets, targets)
	if known.Content == m.Content && len(all) == len(known.Targets) {
		return ItemResult{ID: known.ID, Status: AlreadyExists}, nil
	}
	known.Content, known.Metadata, known.Targets = m.Content, known.Metadata.With(m.Metadata), all
	return ItemResult{ID: known.ID, Status: Replaced}, g.revise(ctx, &known, memory.Replace, risky)
}

// SummaryTargets adds targets to the summary of the actor's session, because they are only known
// after the hand-off. A session without a summary is skipped.
func (l *LongTermService) SummaryTargets(ctx context.Context, a agent.Actor, targets []memory.Task) ([]ItemResult,
	error) {
	if a.Subject.History == "" {
		return nil, fault.New(fault.OutOfScope, "session is required", "")
	}
	return l.change(ctx, a, "summary_targets", targets, memory.Embedded{}, func(g *writing) error {
		names, err := g.summaryTargets(ctx, targets)
		if err != nil {
			return err
		}
		known, found, err := g.tx.LongTerm().DigestOf(ctx, a.Subject.History, "")
		if err != nil {
			return err
		}
		item := ItemResult{ID: known.ID, Status: Unchanged}
		if all := union(known.Targets, names); found && len(all) > len(known.Targets) {
			known.Targets, item.Status = all, Updated
			err = g.revise(ctx, &known, memory.Replace, false)
		}
		return g.addResult(0, item, err)
	})
}

// summaryTargets returns the scope names of the tasks and of the targets that the run has
// registered.
func (g *writing) summaryTargets(ctx context.Context, tasks []memory.Task) (out []string, err error) {
	var all []memory.Target
	if g.a.Run != "" {
		if all, err = g.tx.Targets().TargetsBy(ctx, g.a.Run); err != nil {
			return nil, err
		}
	}
	for _, task := range tasks {
		t, fixed := memory.FixedTarget(task.Type)
		if !fixed {
			if t, err = memory.NewTarget(task.Type, task.Target); err != nil {
				return nil, err
			}
			known, found, err := g.tx.Targets().Target(ctx, t)
			if err != nil {
				return nil, err
			}
			if !found {
				return nil, notRegistered(task)
			}
			t = known
		}
		all = append(all, t)
	}
	for _, t := range all {
		if t.Row != 0 {
			if _, err := g.tx.Targets().TouchTargets(ctx, []memory.Scope{t.Scope()}, true); err != nil {
				return nil, fmt.Errorf("update the summary time of %s: %w", t.Scope().Name(), err)
			}
		}
		out = union(out, []string{t.Scope().Name()})
	}
	return out, nil
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
