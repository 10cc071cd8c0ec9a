package memory

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Action is a change of an entry.
type Action string

const (
	Add     Action = "add"
	Replace Action = "replace"
	Remove  Action = "remove"
	Merge   Action = "merge"   // into another entry with the same content
	Restore Action = "restore" // by a person
	Undo    Action = "undo"    // of all changes of a run
)

// Operation is one requested change.
type Operation struct {
	Op      Action `json:"op" jsonschema:"add, replace or remove"`
	Match   string `json:"match,omitempty" jsonschema:"id of the entry, or a part of its text that no other entry has; for replace and remove"`
	Content string `json:"content,omitempty" jsonschema:"the entry's text; for add and replace"`
}

// Step is one effective change. Steps must be written in their order: after each of them, no two
// active entries have the same content.
type Step struct {
	Action  Action
	Entry   *Entry // for Add an entry without a row, whose Key and ID the writer assigns
	Content string // of Entry after the step
}

// Plan is the result of a batch of operations.
type Plan struct {
	Steps     []Step
	Unchanged int         // operations that change nothing
	Resolved  []Operation // operations with the IDs of their entries
	Meant     []*Entry    // entry of each operation; if two are merged, the one that stays
	Before    int         // runes
	After     int         // runes
}

// MakePlan applies operations in order to the active entries of one type. It does not modify
// entries. Either all operations are planned or none. budget is in runes and applies to the final
// state only. A batch that frees space is accepted even if the result still exceeds the budget.
func MakePlan(t Type, entries []Entry, operations []Operation, budget int) (Plan, error) {
	p := Plan{}
	var state []*Entry
	for _, e := range entries {
		state = append(state, &e)
		p.Before += utf8.RuneCountInString(e.Content)
	}
	for i, o := range operations {
		var err error
		if state, err = p.apply(t, state, o); err != nil {
			if len(operations) > 1 {
				f := fault.From(err)
				f.Message = fmt.Sprintf("operation %d: %s; no changes were made", i+1, f.Message)
				err = f
			}
			return Plan{}, err
		}
	}
	for _, e := range state {
		p.After += utf8.RuneCountInString(e.Content)
	}
	return p, p.fits(t, budget)
}

// fits returns an error if the plan exceeds a budget in runes and frees no space.
func (p Plan) fits(t Type, budget int) error {
	if p.After <= budget || p.After <= p.Before {
		return nil
	}
	return fault.New(fault.TooLarge, fmt.Sprintf(
		"%s would have %d characters, at most %d are allowed; it has %d now", t, p.After, budget, p.Before),
		"send one memory_batch that removes or shortens entries and then adds this one").With("size", p.After).
		With("limit", budget)
}

func (p *Plan) apply(t Type, state []*Entry, o Operation) ([]*Entry, error) {
	var meant *Entry
	var err error
	if o.Op == Replace || o.Op == Remove {
		if meant, err = Select(state, o.Match); err != nil {
			return nil, err
		}
		if meant.ID != "" {
			o.Match = meant.ID
		}
	}
	if o.Op == Add || o.Op == Replace {
		if o.Content, err = Normalize(o.Content); err != nil {
			return nil, err
		}
	}
	p.Resolved = append(p.Resolved, o)
	said := slices.IndexFunc(state, func(e *Entry) bool { return e.Content == o.Content })
	switch {
	case o.Op == Add && said >= 0, o.Op == Replace && said >= 0 && state[said] == meant:
		p.Unchanged++
		p.Meant = append(p.Meant, state[said])
		return state, nil
	case o.Op == Add:
		e := &Entry{Type: t, Content: o.Content, Status: Active}
		p.Steps, p.Meant = append(p.Steps, Step{Add, e, o.Content}), append(p.Meant, e)
		return append(state, e), nil
	case o.Op == Remove, o.Op == Replace && said >= 0: // another entry has this content: merge the two
		p.Steps, p.Meant = append(p.Steps, Step{Remove, meant, meant.Content}), append(p.Meant, meant)
		if o.Op == Replace {
			p.Meant[len(p.Meant)-1] = state[said]
		}
		return slices.DeleteFunc(state, func(e *Entry) bool { return e == meant }), nil
	case o.Op == Replace:
		meant.Content = o.Content
		p.Steps, p.Meant = append(p.Steps, Step{Replace, meant, o.Content}), append(p.Meant, meant)
		return state, nil
	}
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown operation %q", o.Op),
		"use add, replace or remove")
}

// MakeRestore plans that an entry has a content again and is active, whatever its status. It does not modify e. entries
// are the active ones of its type. budget is in runes, as for MakePlan.
func MakeRestore(e Entry, content string, entries []Entry, budget int) (Plan, error) {
	p := Plan{Meant: []*Entry{&e}}
	for _, other := range entries {
		n := utf8.RuneCountInString(other.Content)
		p.Before += n
		if other.Key == e.Key {
			continue
		}
		if p.After += n; other.Content == content {
			return Plan{}, fault.New(fault.VersionConflict, fmt.Sprintf("memory %s has the same content", other.ID),
				"delete that memory first")
		}
	}
	p.After += utf8.RuneCountInString(content)
	if e.Status == Active && e.Content == content {
		p.Unchanged++
		return p, nil
	}
	p.Steps = []Step{{Restore, &e, content}}
	return p, p.fits(e.Type, budget)
}

// Count returns the number of steps with an action.
func (p Plan) Count(a Action) (n int) {
	for _, s := range p.Steps {
		if s.Action == a {
			n++
		}
	}
	return n
}

// Base returns the version of each stored entry that the plan changes.
func (p Plan) Base() map[string]int {
	out := map[string]int{}
	for _, s := range p.Steps {
		if s.Entry.ID != "" {
			out[s.Entry.ID] = s.Entry.Version
		}
	}
	return out
}

// Gist returns a one-line summary of the plan, for its approval.
func (p Plan) Gist(t Type) string {
	return fmt.Sprintf("%s: +%d ~%d -%d entries, %+d characters", t, p.Count(Add), p.Count(Replace), p.Count(Remove),
		p.After-p.Before)
}

// Usage returns the used percentage of a budget, rounded up, so that only an empty memory shows 0.
func Usage(runes, budget int) int {
	if budget <= 0 {
		return 100
	}
	return (runes*100 + budget - 1) / budget
}
