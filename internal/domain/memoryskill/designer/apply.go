package designer

import (
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// Rules are the constraints of a proposal.
type Rules struct {
	Edits  int    // maximum number of changes of a proposal, 3 by default
	Origin string // the round, stored with every version that it creates
	// Added maps the name of each added skill to the vector of its description. Vectors are those
	// of the bank by version ID. Without them, near-duplicates are not detected.
	Added, Vectors map[string][]float64
	// Stats of the bank by version ID allow a full bank to evict a skill for a new one. Without
	// them, a full bank rejects new skills.
	Stats map[string]memoryskill.Stats
}

// DefaultEdits is the default maximum number of changes of a round.
const DefaultEdits = 3

// Problem is a reason not to apply a proposal, in a form that can be sent to the model that
// proposed it.
type Problem struct {
	Change  int        `json:"change"` // index of the change; −1 for the whole proposal
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hint    string     `json:"hint"`
}

// Round is an applied proposal.
type Round struct {
	Bank     memoryskill.Bank
	Changes  []memoryskill.Difference // from the previous bank
	Evicted  []string                 // names of the evicted skills
	Warnings []memoryskill.Warning    // about the new bank
}

// Apply returns the bank after a proposal. If there is any problem, nothing is applied, and all
// problems are returned so that one retry can fix them.
func Apply(bank memoryskill.Bank, p Proposal, rules Rules) (Round, []Problem) {
	a := applying{rules: rules, bank: bank, edited: map[string]bool{}}
	if a.rules.Edits == 0 {
		a.rules.Edits = DefaultEdits
	}
	switch {
	case p.Action == NoChange && len(p.Changes) == 0:
		return Round{Bank: bank}, nil
	case p.Action == NoChange:
		a.problem(-1, fault.Newf(fault.InvalidArgument, "the proposal has action no_change and %d changes",
			len(p.Changes)))
	case p.Action != ApplyChanges:
		a.problem(-1, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown proposal action %q", p.Action),
			"use apply_changes or no_change"))
	case len(p.Changes) == 0:
		a.problem(-1, fault.New(fault.InvalidArgument, "the proposal has no changes",
			"send changes, or use the action no_change"))
	case len(p.Changes) > a.rules.Edits:
		a.problem(-1, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the proposal has %d changes, at most %d are allowed", len(p.Changes), a.rules.Edits),
			"keep only the most useful changes"))
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

// applying is the state of Apply.
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
		s = c.Skill.Normalized()
	case c.Action == RefineExisting && c.Changes != nil && c.Skill == nil:
		current, there := a.bank.Get(c.Name)
		if !there {
			return fault.Newf(fault.NotFound, "the bank has no skill %q to refine", c.Name)
		}
		s = c.Changes.apply(current.Skill).Normalized()
	default:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid members for change action %q", c.Action),
			"send skill with add_new, or name and changes with refine_existing")
	}
	if a.edited[s.Name] {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("skill %q has two changes", s.Name),
			"merge both changes into one")
	}
	a.edited[s.Name] = true
	if warnings := memoryskill.Lint(s); len(warnings) > 0 {
		w := warnings[0]
		return fault.New(fault.InvalidArgument, fmt.Sprintf("skill %q, %s: %s", s.Name, w.Field, w.Message),
			"rephrase it, or propose a skill with the other action")
	}
	if c.Action == RefineExisting {
		return a.replace(a.bank.Refine(s, memoryskill.Designer, a.rules.Origin))
	}
	return a.add(s)
}

func (a *applying) add(s memoryskill.Skill) error {
	if s.Action != memoryskill.Insert && s.Action != memoryskill.Update {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("a new skill cannot have action %q", s.Action),
			"use insert or update; the primitives cover delete and noop")
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

// makeRoom evicts a skill from a full bank, if there are statistics.
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
