package train

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

// Number of model calls of a round.
const (
	critiques = 2 // critiques after the first analysis
	attempts  = 3 // attempts to get a valid proposal
)

// Diagnose analyzes the cases with a model, and lets the model criticize the analysis. A reply that cannot be read,
// also after its repairs, is left out. Without any, the error is ModelInvalid.
func (s Designer) Diagnose(ctx context.Context, d DesignInput) (out *learning.Analysis, err error) {
	m, err := material(d)
	if err != nil {
		return nil, err
	}
	var problem error
	for n := range 1 + critiques {
		_, problem, err = bank.Ask(ctx, s.Asker, d.Model, d.Ref,
			bank.Question{Step: fmt.Sprintf("%s/diagnose/%d", d.Step, n),
				Stage: prompt.Diagnose, Lang: d.Lang, Material: m, Decode: func(text string) error {
					raw, err := llm.ExtractJSON(text)
					if err != nil {
						return err
					}
					var a learning.Analysis
					if err := json.Unmarshal(raw, &a); err != nil {
						return err
					}
					out, m.Analysis = &a, raw
					return nil
				}})
		if err != nil {
			return nil, err
		}
	}
	if out == nil {
		return nil, fault.New(fault.ModelInvalid, "the analysis of hard cases cannot be read: "+problem.Error(), "")
	}
	return out, nil
}
