package train

import (
	"context"
	"fmt"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
)

// Designer proposes edits with a model.
type Designer struct {
	Encoder bank.Encoder
	Asker   bank.Asker
}

// FailedCase is a case with the memories of its last failure.
type FailedCase struct {
	learning.Case
	Retrieved []string // contents of the found memories
	Items     []string // contents of all memories at that time
}

// Mine selects the cases of a round, and determines which step lost the answer of each.
func (s Designer) Mine(ctx context.Context, failed []FailedCase, traces map[int64]bank.EpisodeTrace,
	recipe memoryskill.Recipe) ([]learning.MinedCase, error) {
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
	var out []learning.MinedCase
	for _, r := range chosen {
		c := by[r.Key()]
		view := designer.View{Bank: c.Items}
		for _, span := range traces[c.Conversation].Spans {
			view.Trace = append(view.Trace, span.Text())
		}
		out = append(out, learning.MinedCase{Handle: fmt.Sprintf("c%d", len(out)), Case: c.ID, Cluster: r.Cluster,
			Difficulty: r.Difficulty, Mechanism: designer.Label(r.Case, view), Question: r.Question, Gold: r.Gold,
			Prediction: r.Prediction, Retrieved: r.Retrieved, Evidence: r.Evidence})
	}
	return out, nil
}
