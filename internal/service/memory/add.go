package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// addition is a memory to add to a scope.
type addition struct {
	NewMemory
	scope   memory.Scope
	risky   bool  // might be an attack
	refused error // the memory is invalid, for this reason
}

// examine normalizes and scans a memory.
func examine(m NewMemory, t memory.Type) addition {
	var out addition
	out.risky, out.refused = checkNew(&m, t)
	out.NewMemory = m
	return out
}

// manyAdded is the number of memories for which preparing the transaction takes less time than it saves.
const manyAdded = 50

// AddMemories adds memories to the actor's target. Duplicates are not added. A new guideline of a
// tool replaces the old one.
func (l *LongTermService) AddMemories(ctx context.Context, a agent.Actor, in []NewMemory) ([]ItemResult, error) {
	all, args := make([]addition, len(in)), slices.Clone(in)
	for i := range in {
		if all[i] = examine(in[i], memory.Type(a.Subject.Type)); all[i].refused == nil {
			in[i] = all[i].NewMemory // callers show what is stored
		}
	}
	return l.change(ctx, a, "add_memory", args, l.embedded(ctx, a, all), func(g *writing) error {
		s, err := g.scope(ctx, true)
		if err != nil {
			return err
		}
		if s.Type == memory.Identity {
			return fault.New(fault.OutOfScope, "the identity has no entries", "update the identity instead")
		}
		for i := range all {
			all[i].scope = s
		}
		if len(all) >= manyAdded {
			if err := g.tx.LongTerm().ExpectMany(ctx); err != nil {
				return err
			}
		}
		return g.addAll(ctx, all)
	})
}

// BatchMemory is a memory of a batch.
type BatchMemory struct {
	NewMemory
	Type   memory.Type `json:"memory_type"`
	Target string      `json:"memory_target"`
	// Refused is the result of a memory that could not be decoded. The other fields are empty.
	Refused *ItemResult `json:"refused,omitempty"`
}

// MaxBatched is the maximum number of memories in a batch.
const MaxBatched = 1000

// AddBatch is AddMemories for memories of any targets, which it registers, in one transaction. An
// invalid memory fails alone, even if all are invalid. It requires a user.
func (l *LongTermService) AddBatch(ctx context.Context, a agent.Actor, in []BatchMemory) ([]ItemResult, error) {
	if err := RequirePerson(a, "adding a batch"); err != nil {
		return nil, err
	}
	if len(in) == 0 || len(in) > MaxBatched {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("batch has %d memories, want 1 to %d", len(in), MaxBatched),
			fmt.Sprintf("send at most %d memories in one batch", MaxBatched))
	}
	all, named := make([]addition, len(in)), make([]memory.Target, len(in))
	for i := range in {
		in[i].Index = i
		all[i], named[i] = in[i].examine()
	}
	vectors := l.embedded(ctx, a, all)
	return Once(ctx, l.Store.InWorkspace, a, "add_memories", in,
		func(ctx context.Context, tx store.Tx) ([]ItemResult, error) {
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a).With(vectors)}
			g.w.Author = a.Subject.Author
			if err := tx.LongTerm().ExpectMany(ctx); err != nil {
				return nil, err
			}
			if err := g.place(ctx, all, named); err != nil {
				return nil, err
			}
			if err := g.addAll(ctx, all); err != nil {
				return nil, err
			}
			return g.items, tx.LongTerm().IndexLongTerm(ctx, g.dirty, g.w)
		})
}

// examine checks a memory of a batch and returns the target that it names.
func (m BatchMemory) examine() (addition, memory.Target) {
	if m.Refused != nil {
		return addition{NewMemory: m.NewMemory,
			refused: fault.New(m.Refused.Code, m.Refused.Message, m.Refused.Hint)}, memory.Target{}
	}
	if !slices.Contains(scoped, m.Type) {
		return addition{NewMemory: m.NewMemory, refused: fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid memory_type %q in a batch", m.Type),
			"use personal, procedural or tool; save the memories of prompts one by one")}, memory.Target{}
	}
	out := examine(m.NewMemory, m.Type)
	t, fixed := memory.FixedTarget(m.Type)
	if !fixed && out.refused == nil {
		t, out.refused = memory.NewTarget(m.Type, m.Target)
	}
	return out, t
}

// place sets the scopes of valid memories and registers their targets.
func (g *writing) place(ctx context.Context, all []addition, named []memory.Target) error {
	known := map[memory.Scope]memory.Scope{} // by the named scope; the zero value is not resolved yet
	var distinct []memory.Scope
	for i, m := range all {
		s := named[i].Scope()
		if _, fixed := memory.FixedTarget(s.Type); fixed {
			known[s] = s
		}
		if _, seen := known[s]; !seen && m.refused == nil {
			known[s], distinct = memory.Scope{}, append(distinct, s)
		}
	}
	there, err := g.tx.Targets().TouchTargets(ctx, distinct, false)
	if err != nil {
		return err
	}
	for _, s := range there {
		known[s] = s
	}
	for i := range all {
		if all[i].refused != nil {
			continue
		}
		s := named[i].Scope()
		if known[s].Type == "" { // another spelling, or a new target
			t, _, err := g.target(ctx, named[i], true)
			if err != nil {
				return err
			}
			known[s] = t.Scope()
		}
		all[i].scope = known[s]
	}
	return nil
}

// embedded returns the vectors of valid memories.
func (l *LongTermService) embedded(ctx context.Context, a agent.Actor, all []addition) memory.Embedded {
	var texts []string
	for _, m := range all {
		if m.refused == nil {
			text, _ := memory.Entry{Content: m.Content, WhenToUse: m.WhenToUse}.Embedded()
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		for _, c := range a.Subject.Categories {
			texts = append(texts, c.Text())
		}
	}
	return l.embed(ctx, a, distinct(texts))
}

// checkNew normalizes and scans a new memory. Text that only might be an attack is accepted; risky
// is then true.
func checkNew(m *NewMemory, t memory.Type) (risky bool, err error) {
	if m.Content, err = memory.NormalizeLong(m.Content); err != nil {
		return false, err
	}
	if m.WhenToUse, err = memory.NormalizeUse(m.WhenToUse); err != nil {
		return false, err
	}
	if t == memory.Guideline && m.WhenToUse == "" {
		return false, fault.New(fault.InvalidArgument, "when_to_use is required",
			"set it to the exact name of the tool")
	}
	if m.EventTime != nil && (m.EventTime.UTC().Year() < 1 || m.EventTime.UTC().Year() > 9999) {
		return false, fault.New(fault.InvalidArgument, "event_time is out of range",
			"use a year from 1 to 9999, for example 2026-03-01T10:00:00Z")
	}
	if err := fault.CheckNumber("importance", m.Importance, -fault.MaxNumber, fault.MaxNumber); err != nil {
		return false, err
	}
	m.Metadata = memory.Metadata{}.With(m.Metadata)
	if err := m.Metadata.Check(); err != nil {
		return false, err
	}
	return inspectAll(m.Content, m.WhenToUse, m.Metadata.Text())
}

func inspectAll(texts ...string) (risky bool, err error) {
	for _, text := range texts {
		if text == "" {
			continue
		}
		risk, err := memory.Inspect("the memory", text)
		if err != nil {
			return false, err
		}
		risky = risky || len(risk) > 0
	}
	return risky, nil
}

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// identity is what no other active entry may have: the content in a scope, or the tool of a
// guideline.
func identity(t memory.Type, target, content, use string) memory.Statement {
	if t == memory.Guideline {
		return memory.Statement{Scope: memory.Scope{Type: t}, Content: use}
	}
	return memory.Statement{Scope: memory.Scope{Type: t, Target: target}, Content: content}
}

func (m addition) identity() memory.Statement {
	return identity(m.scope.Type, m.scope.Target, m.Content, m.WhenToUse)
}

// addAll adds memories and appends the result of each.
func (g *writing) addAll(ctx context.Context, all []addition) error {
	items, errs, err := g.additions(ctx, all)
	if err != nil {
		return err
	}
	for i, m := range all {
		if err := g.addResult(m.Index, items[i], errs[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds one memory.
func (g *writing) add(ctx context.Context, s memory.Scope, m NewMemory, risky bool) (ItemResult, error) {
	items, errs, err := g.additions(ctx, []addition{{NewMemory: m, scope: s, risky: risky}})
	if err != nil {
		return ItemResult{}, err
	}
	return items[0], errs[0]
}

// additions adds memories in their order: as new entries, as versions of the guidelines that they
// replace, or not at all if they exist. It returns the result or the error of each.
func (g *writing) additions(ctx context.Context, all []addition) (items []ItemResult, errs []error, err error) {
	known, err := g.existing(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	items, errs = make([]ItemResult, len(all)), make([]error, len(all))
	entries := make([]*memory.Entry, len(all))
	var fresh []*memory.Entry
	for i, m := range all {
		if errs[i] = m.refused; m.refused != nil {
			continue
		}
		e, status := known[m.identity()], AlreadyExists
		switch {
		case e == nil:
			if e, status = g.entry(m), Added; e.Status == memory.Quarantined {
				status = Staged
			}
			fresh, known[m.identity()] = append(fresh, e), e
		case e.Content != m.Content:
			if err := g.create(ctx, fresh...); err != nil {
				return nil, nil, err
			}
			fresh, status = nil, Updated
			e.Content, e.Metadata = m.Content, e.Metadata.With(m.Metadata)
			errs[i] = g.revise(ctx, e, memory.Replace, m.risky)
		}
		items[i].Status, entries[i] = status, e
	}
	if err := g.create(ctx, fresh...); err != nil {
		return nil, nil, err
	}
	var keys []int64
	for i, e := range entries {
		switch {
		case e == nil || errs[i] != nil:
		case e.Key == 0:
			errs[i] = errNoID
		default:
			items[i].ID, keys = e.ID, append(keys, e.Key)
		}
	}
	return items, errs, g.refer(ctx, g.with(keys...)...)
}

// with adds the key of the entry that was stored along.
func (g *writing) with(keys ...int64) []int64 {
	if g.went != nil && g.went.Key != 0 {
		keys = append(keys, g.went.Key)
	}
	g.went = nil
	return keys
}

// existing returns the entries that new memories duplicate or replace.
func (g *writing) existing(ctx context.Context, all []addition) (map[memory.Statement]*memory.Entry, error) {
	var contents []memory.Statement
	var tools []string
	for _, m := range all {
		switch {
		case m.refused != nil:
		case m.scope.Type == memory.Guideline:
			tools = append(tools, m.WhenToUse)
		default:
			contents = append(contents, m.identity())
		}
	}
	found, err := g.tx.LongTerm().Sayings(ctx, contents)
	if err != nil {
		return nil, err
	}
	guidelines, err := g.tx.LongTerm().Guidelines(ctx, tools)
	if err != nil {
		return nil, err
	}
	out := map[memory.Statement]*memory.Entry{}
	for _, e := range append(found, guidelines...) {
		out[identity(e.Type, e.Target, e.Content, e.WhenToUse)] = &e
	}
	return out, nil
}

// entry returns the new entry of a memory.
func (g *writing) entry(m addition) *memory.Entry {
	e := &memory.Entry{Type: m.scope.Type, Target: m.scope.Target, Content: m.Content, WhenToUse: m.WhenToUse,
		Metadata: g.stamped(m.Metadata), EventTime: m.EventTime, Importance: m.Importance, Author: g.w.Author,
		Evidence: m.Evidence, Tainted: g.w.Tainted, Status: g.status(m.risky)}
	g.categorize(e)
	return e
}

// errNoID is the result of an entry for which each ID is taken.
var errNoID = fault.New(fault.QuotaExceeded, "this sentence was added and removed too often", "use different words")

// create adds entries. The key of an entry without a free ID stays 0.
func (g *writing) create(ctx context.Context, entries ...*memory.Entry) error {
	if g.along != nil {
		entries = append(entries, g.along)
		g.along, g.went = nil, g.along
	}
	if len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if g.a.Subject.History != "" {
			e.Histories = []string{g.a.Subject.History}
		}
	}
	if err := g.tx.LongTerm().AddLongTerm(ctx, entries, g.w); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Key != 0 {
			g.markDirty(*e)
		}
	}
	return nil
}
