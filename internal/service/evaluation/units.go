package evaluation

import (
	"fmt"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Kinds of units.
const (
	trainUnit  = "train"  // trains the bank of a row
	selectUnit = "select" // tries a fixed set on a conversation
	testUnit   = "test"   // measures a row on a conversation
)

// unit is one piece of work of an evaluation.
type unit struct {
	Kind   string `json:"kind"`
	Row    string `json:"row"`
	Set    int    `json:"set,omitempty"`
	Sample string `json:"sample,omitempty"`
}

// groupSize is the number of questions of one step.
const groupSize = 10

func groups(questions int) int { return (questions + groupSize - 1) / groupSize }

// units lists the units in order, first those that prepare others.
func (s Spec) units() (out []unit, prepared int) {
	if s.has(Evolved) || s.has(EvolvedLearned) {
		out = append(out, unit{Kind: trainUnit, Row: EvolvedLearned})
	}
	if s.has(RefineOnly) {
		out = append(out, unit{Kind: trainUnit, Row: RefineOnly})
	}
	if s.has(BestFixed) && len(s.sets()) > 1 {
		for _, sample := range s.selection() {
			for set := range s.sets() {
				out = append(out, unit{Kind: selectUnit, Row: BestFixed, Set: set, Sample: sample})
			}
		}
	}
	prepared = len(out)
	for _, sample := range s.Split.Test {
		for _, row := range s.Rows {
			out = append(out, unit{Kind: testUnit, Row: row, Sample: sample})
		}
	}
	return out, prepared
}

// seedBank returns the bank of a new workspace.
func seedBank() (memoryskill.Bank, error) {
	return memoryskill.ShippedBank(memoryskill.DefaultCapacity)
}

// selection returns the conversations on which the best fixed set is selected. The test conversations
// are never among them.
func (s Spec) selection() []string {
	if len(s.Split.Validation) > 0 {
		return s.Split.Validation
	}
	return s.Split.Train
}

// sets returns the fixed sets that are compared, as names of skills: the first K skills of the seed
// bank, and random sets. Each can insert memories. Without a conversation to select on, it is the first.
func (s Spec) sets() (out [][]string) {
	seed, err := seedBank()
	if err != nil {
		return nil
	}
	var names []string
	inserts := map[string]bool{}
	for _, v := range seed.Versions() {
		if v.Skill.Action == memoryskill.Noop {
			continue
		}
		names = append(names, v.Skill.Name)
		inserts[v.Skill.Name] = v.Skill.Action == memoryskill.Insert
	}
	const attempts = 1000 // to draw another set
	for n := 0; len(out) < s.Sets && n < attempts; n++ {
		order := slices.Clone(names)
		if n > 0 {
			draw := keyedrand.Key{Run: s.Seed, Iteration: n, Purpose: "set"}.Stream()
			draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		set := order[:min(s.Keeping.K, len(order))]
		slices.Sort(set)
		known := slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, set) })
		if !known && slices.ContainsFunc(set, func(name string) bool { return inserts[name] }) {
			out = append(out, set)
		}
		if len(s.selection()) == 0 && len(out) > 0 {
			return out[:1]
		}
	}
	return out
}

func unitStep(n int) string            { return fmt.Sprintf("unit/%05d", n) }
func doneStep(n int) string            { return fmt.Sprintf("done/%05d", n) }
func groupStep(n, group int) string    { return fmt.Sprintf("answers/%05d/%04d", n, group) }
func sampleStep(n int) string          { return fmt.Sprintf("sample/%05d", n) }
func endedStep(n int) string           { return fmt.Sprintf("ended/%05d", n) }
func questionStep(n, place int) string { return fmt.Sprintf("unit/%d/question/%d", n, place) }
func judgeStep(n, place int) string    { return fmt.Sprintf("unit/%d/judge/%d", n, place) }
