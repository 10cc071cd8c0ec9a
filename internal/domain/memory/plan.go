package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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
	Move    Action = "move"    // to long-term memory, because its store was full
	Return  Action = "return"  // to the prompt, because it was said again
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
	Moves     []*Entry    // entries that leave the prompt, after Steps, because the store is full
	Confirmed []*Entry    // entries that operations say again
	Unchanged int         // operations that change nothing
	Resolved  []Operation // operations with the IDs of their entries
	Meant     []*Entry    // entry of each operation; if two are merged, the one that stays
	Before    int         // runes
	After     int         // runes
}

// Room is the space of a store, and who writes to it.
type Room struct {
	Budget int  // runes of the entries in the prompt
	Person bool // a person writes, or approved the write
}

// MakePlan applies operations in order to the active entries of one type. It does not modify
// entries. Either all operations are planned or none. Entries move to long-term memory until the
// final state fits the budget. A batch that frees space moves none, even if the result still exceeds the budget.
func MakePlan(t Type, entries []Entry, operations []Operation, room Room) (Plan, error) {
	p := Plan{}
	var state []*Entry
	for _, e := range entries {
		state = append(state, &e)
		p.Before += e.room()
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
		p.After += e.room()
	}
	p.makeRoom(state, room)
	return p, nil
}

// room is the space in runes that an entry takes in the prompt.
func (e Entry) room() int {
	if e.Moved {
		return 0
	}
	return utf8.RuneCountInString(e.Content)
}

// byPerson reports whether a person wrote or approved the content.
func (e Entry) byPerson() bool { return e.Approved || e.Origin == "user" }

// confirmed is when the content was last said.
func (e Entry) confirmed() time.Time {
	if e.ConfirmedAt != nil && e.ConfirmedAt.After(e.UpdatedAt) {
		return *e.ConfirmedAt
	}
	return e.UpdatedAt
}

// makeRoom moves entries out of the prompt until the rest fits: first those that no person wrote or approved, of these
// the least used, of these the longest unconfirmed. Entries of a person follow if a person writes. The entries that the
// plan itself writes are the last.
func (p *Plan) makeRoom(state []*Entry, room Room) {
	if p.After <= p.Before { // it frees space
		return
	}
	written := map[*Entry]bool{}
	for _, s := range p.Steps {
		written[s.Entry] = true
	}
	for _, e := range p.Confirmed {
		written[e] = true
	}
	last := func(e *Entry) int {
		switch {
		case written[e]:
			return 2
		case e.byPerson():
			return 1
		}
		return 0
	}
	order := slices.DeleteFunc(slices.Clone(state), func(e *Entry) bool {
		return e.Moved || last(e) == 1 && !room.Person
	})
	slices.SortStableFunc(order, func(a, b *Entry) int {
		return cmp.Or(last(a)-last(b), a.Retrieved-b.Retrieved, a.confirmed().Compare(b.confirmed()))
	})
	for _, e := range order {
		if p.After <= room.Budget {
			return
		}
		p.After -= e.room()
		p.Moves = append(p.Moves, e)
	}
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
		p.confirm(state[said])
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
			p.confirm(state[said])
		}
		return slices.DeleteFunc(state, func(e *Entry) bool { return e == meant }), nil
	case o.Op == Replace:
		meant.Content, meant.Moved = o.Content, false
		p.Steps, p.Meant = append(p.Steps, Step{Replace, meant, o.Content}), append(p.Meant, meant)
		return state, nil
	}
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown operation %q", o.Op),
		"use add, replace or remove")
}

// confirm plans that an entry is said again. It returns to the prompt if it has left it.
func (p *Plan) confirm(e *Entry) {
	p.Confirmed = append(p.Confirmed, e)
	if !e.Moved {
		p.Unchanged++
		return
	}
	e.Moved = false
	p.Steps = append(p.Steps, Step{Return, e, e.Content})
}

// MakeRestore plans that an entry has a content again, is active and in the prompt, whatever its status. A person
// restores. It does not modify e. entries are the active ones of its type. budget is in runes; others move to
// long-term memory to make room.
func MakeRestore(e Entry, content string, entries []Entry, budget int) (Plan, error) {
	p := Plan{Meant: []*Entry{&e}}
	state := []*Entry{&e}
	for _, other := range entries {
		p.Before += other.room()
		if other.Key == e.Key {
			continue
		}
		if other.Content == content {
			return Plan{}, fault.New(fault.VersionConflict, fmt.Sprintf("memory %s has the same content", other.ID),
				"delete that memory first")
		}
		state = append(state, &other)
	}
	if e.Status == Active && e.Content == content && !e.Moved {
		p.Unchanged++
	} else {
		e.Content, e.Moved = content, false
		p.Steps = []Step{{Restore, &e, content}}
	}
	for _, one := range state {
		p.After += one.room()
	}
	p.makeRoom(state, Room{Budget: budget, Person: true})
	return p, nil
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
