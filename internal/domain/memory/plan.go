package memory

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Action is what happens to an entry.
type Action string

const (
	Add     Action = "add"
	Replace Action = "replace"
	Remove  Action = "remove"
	Merge   Action = "merge"   // into another entry, which says the same
	Restore Action = "restore" // by a person
	Undo    Action = "undo"    // of all that a run did
)

// Operation is one wanted change.
type Operation struct {
	Op      Action `json:"op" jsonschema:"add, replace or remove"`
	Match   string `json:"match,omitempty" jsonschema:"id of the entry, or a part of its text that no other entry has; for replace and remove"`
	Content string `json:"content,omitempty" jsonschema:"the entry's text; for add and replace"`
}

// Step is one effective change, in the order in which to write them: after each
// of them no two active entries say the same.
type Step struct {
	Action  Action
	Entry   *Entry // for Add one without a row, which gets its Key and ID from whoever writes it
	Content string // of Entry after the step
}

// Plan is what a batch of operations comes to.
type Plan struct {
	Steps     []Step
	Unchanged int         // operations that found everything as they want it
	Resolved  []Operation // the operations with the ids of the entries that they mean
	Meant     []*Entry    // what each operation is about; of two that become one, the one that stays
	Before    int         // runes
	After     int         // runes
}

// MakePlan applies operations, one after the other, to the active entries of one
// type, which it leaves as they are. All of them can be done, or none is. budget
// is in runes and must hold what is there in the end, not on the way; a batch
// that frees space is welcome even when it leaves too much.
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
				f.Message = fmt.Sprintf("operation %d: %s; nothing was done", i+1, f.Message)
				err = f
			}
			return Plan{}, err
		}
	}
	for _, e := range state {
		p.After += utf8.RuneCountInString(e.Content)
	}
	if p.After > budget && p.After > p.Before {
		return p, fault.New(fault.TooLarge, fmt.Sprintf(
			"%s would hold %d characters and has room for %d; it holds %d now", t, p.After, budget, p.Before),
			"send one memory_batch that removes or shortens entries and then adds this one").With("size", p.After).
			With("limit", budget)
	}
	return p, nil
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
		if o.Content, err = Normalise(o.Content); err != nil {
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
	case o.Op == Remove, o.Op == Replace && said >= 0: // another entry says it already: the two become one
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
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no operation %q", o.Op),
		"use add, replace or remove")
}

// Count is how many steps have an action.
func (p Plan) Count(a Action) (n int) {
	for _, s := range p.Steps {
		if s.Action == a {
			n++
		}
	}
	return n
}

// Base is the version of every stored entry that the plan changes.
func (p Plan) Base() map[string]int {
	out := map[string]int{}
	for _, s := range p.Steps {
		if s.Entry.ID != "" {
			out[s.Entry.ID] = s.Entry.Version
		}
	}
	return out
}

// Gist is one line of what the plan does, for whoever decides about it.
func (p Plan) Gist(t Type) string {
	return fmt.Sprintf("%s: +%d ~%d -%d entries, %+d characters", t, p.Count(Add), p.Count(Replace), p.Count(Remove),
		p.After-p.Before)
}

// Usage is a share of a budget in percent; what is left over of a percent counts
// as one, so that only an empty memory shows 0.
func Usage(runes, budget int) int {
	if budget <= 0 {
		return 100
	}
	return (runes*100 + budget - 1) / budget
}
