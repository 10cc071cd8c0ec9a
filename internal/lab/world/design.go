package world

import (
	"encoding/json"
	"fmt"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
)

// answered is the score from which a question is not a hard case.
const answered = 0.5

// edits is the number of edits per round. With several edits, the gate could refuse a good one
// because of a bad one.
const edits = 1

// minedCase is a hard case as the designer sees it.
type minedCase struct {
	Handle    string             `json:"handle"`
	Mechanism designer.Mechanism `json:"mechanism"`
	Question  string             `json:"question"`
	Gold      []string           `json:"gold"`
	Evidence  []string           `json:"evidence"`
	Retrieved []string           `json:"retrieved"`
}

// design runs one round of the designer on the training conversations. It returns nil if no
// proposed edit can be applied.
func (l learner) design(bank memoryskill.Bank, tried []episodeResult, failed []string) (*designer.Round, error) {
	cases, err := l.mine(tried)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(cases)
	if err != nil {
		return nil, err
	}
	m := prompt.Material{Cases: raw, Failed: failed, Limits: map[string]int{"max_changes": edits}, Language: "en"}
	for _, v := range bank.Versions() {
		m.Bank = append(m.Bank, shownSkill(v.Skill))
	}
	reply, err := json.Marshal(memoryrules.Answers["changes"](m))
	if err != nil {
		return nil, err
	}
	var changes []json.RawMessage
	if err := json.Unmarshal(reply, &changes); err != nil {
		return nil, err
	}
	kept := changes[:0]
	for _, c := range changes {
		var of struct{ Action string }
		if err := json.Unmarshal(c, &of); err != nil {
			return nil, err
		}
		if !l.refineOnly || of.Action == designer.RefineExisting {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	whole, err := json.Marshal(map[string]any{"action": designer.ApplyChanges, "changes": kept})
	if err != nil {
		return nil, err
	}
	p, err := designer.Decode(whole)
	if err != nil {
		return nil, err
	}
	round, problems := designer.Apply(bank, p, designer.Rules{Edits: edits, Origin: l.seed})
	if len(problems) > 0 {
		return nil, nil // the rules would propose the same edit again
	}
	return &round, nil
}

// mine selects representative failures of the training conversations, which are the first of tried.
func (l learner) mine(tried []episodeResult) (out []minedCase, err error) {
	var hard []designer.Case
	vectors, views := map[string][]float64{}, map[string]designer.View{}
	for n, t := range l.train {
		p := tried[n]
		views[t.id] = designer.View{Bank: p.items, Trace: t.texts}
		for i, q := range t.questions {
			if p.questions[i].words >= answered {
				continue
			}
			c := designer.Case{QueryID: q.key, Trace: t.id, Question: q.text, Gold: []string{q.gold},
				Retrieved: p.questions[i].read, Score: p.questions[i].words, Failures: 1}
			for _, e := range q.evidence {
				c.Evidence = append(c.Evidence, e.text)
			}
			hard, vectors[c.Key()] = append(hard, c), folded(lexical.Vector(q.text, dims))
		}
	}
	how := designer.DefaultMining()
	how.Difficulty, how.Seed = l.recipe.Difficulty, l.seed
	chosen, err := designer.Mine(hard, vectors, how)
	for _, c := range chosen {
		out = append(
			out,
			minedCase{Handle: fmt.Sprintf("c%d", len(out)), Mechanism: designer.Label(c.Case, views[c.Trace]),
				Question: c.Question, Gold: c.Gold, Evidence: c.Evidence, Retrieved: c.Retrieved},
		)
	}
	return out, err
}
