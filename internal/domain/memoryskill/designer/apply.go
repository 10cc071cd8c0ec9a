package designer

import (
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// Rules are what a proposal is held to.
type Rules struct {
	Edits  int    // most changes of a proposal, 3 by default
	Origin string // the round, kept with every version that it makes
	// Added has the vector of each added skill's description by its name, and
	// Vectors those of the bank by version id. Without them near-duplicates are
	// not looked for.
	Added, Vectors map[string][]float64
	// Stats of the bank by version id let a full bank give up a skill for a new
	// one. Without them a full bank refuses.
	Stats map[string]memoryskill.Stats
}

// DefaultEdits is how many changes a round may make unless told otherwise.
const DefaultEdits = 3

// Problem is a reason not to apply a proposal, worded so that it can be sent back
// to who proposed.
type Problem struct {
	Change  int        `json:"change"` // index among the changes, −1 for the proposal
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hint    string     `json:"hint"`
}

// Round is a proposal that was applied.
type Round struct {
	Bank     memoryskill.Bank
	Changes  []memoryskill.Difference // from the bank before
	Evicted  []string                 // names that made room
	Warnings []memoryskill.Warning    // of the bank as it is now
}

// Apply makes the bank that a proposal wants. With any problem nothing is applied
// and all problems are told, so that one retry can mend them together.
func Apply(bank memoryskill.Bank, p Proposal, rules Rules) (Round, []Problem) {
	a := applying{rules: rules, bank: bank, edited: map[string]bool{}}
	if a.rules.Edits == 0 {
		a.rules.Edits = DefaultEdits
	}
	switch {
	case p.Action == NoChange && len(p.Changes) == 0:
		return Round{Bank: bank}, nil
	case p.Action == NoChange:
		a.problem(-1, fault.Newf(fault.InvalidArgument, "the proposal says no_change and has %d changes",
			len(p.Changes)))
	case p.Action != ApplyChanges:
		a.problem(-1, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown action %q of a proposal", p.Action),
			"use apply_changes or no_change"))
	case len(p.Changes) == 0:
		a.problem(-1, fault.New(fault.InvalidArgument, "the proposal has nothing to apply",
			"send changes, or the action no_change"))
	case len(p.Changes) > a.rules.Edits:
		a.problem(-1, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the proposal has %d changes; %d are allowed", len(p.Changes), a.rules.Edits),
			"keep the most useful ones"))
	}
	for i, c := range p.Changes {
		if err := a.change(c); err != nil {
			a.problem(i, err)
		}
	}
	if len(a.problems) > 0 {
		return Round{Bank: bank}, a.problems
	}
	round := Round{Bank: a.bank, Changes: memoryskill.Differences(bank, a.bank), Evicted: a.evicted}
	var skills []memoryskill.Skill
	for _, v := range a.bank.Versions() {
		skills = append(skills, v.Skill)
	}
	round.Warnings = memoryskill.LintBank(skills)
	return round, nil
}

// applying is a proposal on its way.
type applying struct {
	rules    Rules
	bank     memoryskill.Bank
	edited   map[string]bool
	evicted  []string
	problems []Problem
}

func (a *applying) problem(change int, err error) {
	f := fault.From(err)
	a.problems = append(a.problems, Problem{Change: change, Code: f.Code, Message: f.Error(), Hint: f.Hint})
}

func (a *applying) change(c Change) error {
	var s memoryskill.Skill
	switch {
	case c.Action == AddNew && c.Skill != nil && c.Changes == nil && c.Name == "":
		s = c.Skill.Normalised()
	case c.Action == RefineExisting && c.Changes != nil && c.Skill == nil:
		current, there := a.bank.Get(c.Name)
		if !there {
			return fault.Newf(fault.NotFound, "the bank has no skill %q to refine", c.Name)
		}
		s = c.Changes.of(current.Skill).Normalised()
	default:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("a change with action %q and other parts than it needs", c.Action),
			"add_new has skill; refine_existing has name and changes")
	}
	if a.edited[s.Name] {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("skill %q is changed twice", s.Name),
			"join both changes into one")
	}
	a.edited[s.Name] = true
	if warnings := memoryskill.Lint(s); len(warnings) > 0 {
		w := warnings[0]
		return fault.New(fault.InvalidArgument, fmt.Sprintf("skill %q, %s: %s", s.Name, w.Field, w.Message),
			"reword it, or propose a skill of the other action")
	}
	if c.Action == RefineExisting {
		return a.replace(a.bank.Refine(s, memoryskill.Designer, a.rules.Origin))
	}
	return a.add(s)
}

func (a *applying) add(s memoryskill.Skill) error {
	if s.Action != memoryskill.Insert && s.Action != memoryskill.Update {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("a new skill is for insert or update, not for %q", s.Action),
			"the primitives delete and noop are enough")
	}
	if vector, there := a.rules.Added[s.Name]; there {
		if err := memoryskill.CheckDistinct(a.bank, s, vector, a.rules.Vectors); err != nil {
			return err
		}
	}
	if err := a.makeRoom(); err != nil {
		return err
	}
	return a.replace(a.bank.Add(s, memoryskill.Designer, a.rules.Origin))
}

// makeRoom removes a skill from a full bank when its statistics say which.
func (a *applying) makeRoom() error {
	if a.rules.Stats == nil || a.bank.Len() < a.bank.Capacity() {
		return nil
	}
	name, err := memoryskill.Evict(a.bank, a.rules.Stats)
	if err != nil {
		return err
	}
	a.evicted = append(slices.Clip(a.evicted), name)
	return a.replace(a.bank.Remove(name))
}

func (a *applying) replace(bank memoryskill.Bank, err error) error {
	if err == nil {
		a.bank = bank
	}
	return err
}
