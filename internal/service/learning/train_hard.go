package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
)

// hardCases are what a training failed at, as far as its buffer remembers.
type hardCases struct {
	cases     []Case              // that failed in this stage and are not resolved, by key
	retrieved map[string][]string // by case key: what the last failure was answered from
	items     map[string][]string // and all that was remembered then
	held      []BufferedCase      // the buffer, for the next stage
}

// hard goes through the episodes of a stage in their order. A question that was
// answered badly is a hard case; well answered later, it loses half of its
// failures. One that was not scored says nothing.
func (s *Service) hard(ctx context.Context, tx Tx, ref run.Ref, spec TrainSpec, stage int, before []BufferedCase, questions map[int64]Case) (out hardCases, err error) {
	out.retrieved, out.items = map[string][]string{}, map[string][]string{}
	buffer := designer.NewBuffer(designer.DefaultWindow, designer.DefaultRoom, remembered(before, questions)...)
	now := stage * spec.Iterations
	for i := range spec.Iterations {
		now = stage*spec.Iterations + i
		raw, err := tx.Training().TrainedUnder(ctx, ref.Run, fmt.Sprintf("episode/%04d/%05d/", stage, i))
		if err != nil {
			return out, err
		}
		for _, step := range slices.Sorted(maps.Keys(raw)) {
			var one EpisodeResult
			if err := json.Unmarshal(raw[step], &one); err != nil {
				return out, fmt.Errorf("decode %s of run %d: %w", step, ref.Run, err)
			}
			for _, a := range one.Asked {
				c, known := questions[a.Case]
				switch {
				case !known || !a.Scored:
				case a.Score >= wellAnswered:
					buffer = buffer.Succeed(c.Key, now)
				default:
					buffer = buffer.Fail(designer.Case{QueryID: c.Key, Score: a.Score}, now)
					out.retrieved[c.Key], out.items[c.Key] = append([]string{}, a.Retrieved...), one.Items
				}
			}
		}
	}
	byKey := map[string]Case{}
	for _, c := range questions {
		byKey[c.Key] = c
	}
	for _, h := range buffer.Cases(now) {
		c := byKey[h.QueryID]
		out.held = append(out.held, BufferedCase{Case: c.ID, Score: h.Score, Failures: h.Failures, Iteration: h.Iteration})
		if out.retrieved[h.QueryID] == nil {
			continue // of an earlier stage: nobody has asked since
		}
		c.Prediction, c.Score, c.Failures, c.Iteration = "", h.Score, h.Failures, h.Iteration
		out.cases = append(out.cases, c)
	}
	return out, nil
}

// remembered are the cases of an earlier stage's buffer whose questions are still
// known.
func remembered(before []BufferedCase, questions map[int64]Case) (out []designer.Case) {
	for _, h := range before {
		if c, known := questions[h.Case]; known {
			out = append(out, designer.Case{QueryID: c.Key, Score: h.Score, Failures: h.Failures, Iteration: h.Iteration})
		}
	}
	return out
}

// among are the hard cases with these keys, or all when none of them is left: a
// step back looks again at what the best stage was to mend.
func (h hardCases) among(keys []string) []Case {
	kept := slices.DeleteFunc(slices.Clone(h.cases), func(c Case) bool { return !slices.Contains(keys, c.Key) })
	if len(kept) == 0 {
		return h.cases
	}
	return kept
}
