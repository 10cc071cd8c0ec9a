// Package design has a model edit a bank after what memory failed at: the cases are
// chosen and clustered, a model analyses them, and proposes edits that are checked.
package design

import (
	"context"
	"fmt"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Designer asks a model for edits.
type Designer struct {
	Encoder bank.Encoder
	Asker   runspec.Asker
}

// FailedCase is a case with what its last failure was answered from.
type FailedCase struct {
	cases.Case
	Retrieved []string // texts that were found
	Items     []string // texts of what was remembered then
}

// Mine chooses the cases of a round and tells of each which step lost its answer.
func (s Designer) Mine(ctx context.Context, failed []FailedCase, traces map[int64]episode.Trace,
	recipe memoryskill.Recipe) ([]MinedCase, error) {
	var hard []designer.Case
	var texts []string
	by := map[string]FailedCase{}
	for _, c := range failed {
		t := traces[c.Conversation]
		hard = append(hard, c.Hard(fmt.Sprint(c.Conversation), t.Evidence(c.Case), c.Retrieved))
		texts, by[c.Key] = append(texts, c.Question), c
	}
	found, err := s.Encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	vectors := map[string][]float64{}
	for i, c := range hard {
		vectors[c.Key()] = policy.Fold(found[i], s.Encoder.Embedder.Dims())
	}
	mining := designer.DefaultMining()
	mining.Difficulty = recipe.Difficulty
	chosen, err := designer.Mine(hard, vectors, mining)
	if err != nil {
		return nil, err
	}
	var out []MinedCase
	for _, r := range chosen {
		c := by[r.Key()]
		view := designer.View{Bank: c.Items}
		for _, span := range traces[c.Conversation].Spans {
			view.Trace = append(view.Trace, span.Text())
		}
		out = append(out, MinedCase{Handle: fmt.Sprintf("c%d", len(out)), Case: c.ID, Cluster: r.Cluster,
			Difficulty: r.Difficulty, Mechanism: designer.Label(r.Case, view), Question: r.Question, Gold: r.Gold,
			Prediction: r.Prediction, Retrieved: r.Retrieved, Evidence: r.Evidence})
	}
	return out, nil
}
