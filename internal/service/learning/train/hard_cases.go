package train

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// hardCases are the failed questions of a training.
type hardCases struct {
	failed []FailedCase   // unresolved failures of this stage, by key
	buffer []BufferedCase // for the next stage
}

// readHardCases reads the episodes of a stage in order. A bad answer makes a hard case. A later
// good answer halves its failures. Questions without a score are ignored.
func readHardCases(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec, stage int, before []BufferedCase,
	questions map[int64]learning.Case) (out hardCases, err error) {
	buffer := designer.NewBuffer(designer.DefaultWindow, designer.DefaultRoom, bufferedCases(before, questions)...)
	failures := map[string]FailedCase{} // by key: data of the last failure
	now := stage * spec.Iterations
	for i := range spec.Iterations {
		now = stage*spec.Iterations + i
		results, err := readEpisodes(ctx, tx, ref, stage, i)
		if err != nil {
			return out, err
		}
		for _, one := range results {
			for _, q := range one.Questions {
				c, known := questions[q.Case]
				switch {
				case !known || !q.Scored:
				case q.Score >= bank.WellAnswered:
					buffer = buffer.Succeed(c.Key, now)
				default:
					buffer = buffer.Fail(designer.Case{QueryID: c.Key, Score: q.Score}, now)
					failures[c.Key] = FailedCase{Case: c, Retrieved: q.Retrieved, Items: one.Items}
				}
			}
		}
	}
	byKey := map[string]learning.Case{}
	for _, c := range questions {
		byKey[c.Key] = c
	}
	for _, h := range buffer.Cases(now) {
		out.buffer = append(out.buffer, BufferedCase{Case: byKey[h.QueryID].ID, Score: h.Score, Failures: h.Failures,
			Iteration: h.Iteration})
		f, found := failures[h.QueryID]
		if !found {
			continue // from an earlier stage, not asked since
		}
		f.Prediction, f.Score, f.Failures, f.Iteration = "", h.Score, h.Failures, h.Iteration
		out.failed = append(out.failed, f)
	}
	return out, nil
}

// readEpisodes reads the stored episodes of an iteration, in order.
func readEpisodes(ctx context.Context, tx store.Tx, ref run.Ref, stage, iteration int) (out []bank.EpisodeResult,
	err error) {
	raw, err := tx.Training().StepResults(ctx, ref.Run, fmt.Sprintf("episode/%04d/%05d/", stage, iteration))
	if err != nil {
		return nil, err
	}
	for _, step := range slices.Sorted(maps.Keys(raw)) {
		var one bank.EpisodeResult
		if err := json.Unmarshal(raw[step], &one); err != nil {
			return nil, fmt.Errorf("decode %s of run %s: %w", step, ref.Run, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// bufferedCases returns the buffered cases of an earlier stage whose questions still exist.
func bufferedCases(before []BufferedCase, questions map[int64]learning.Case) (out []designer.Case) {
	for _, h := range before {
		if c, known := questions[h.Case]; known {
			out = append(out, designer.Case{QueryID: c.Key, Score: h.Score, Failures: h.Failures,
				Iteration: h.Iteration})
		}
	}
	return out
}

// among returns the hard cases with the given keys, or all if none of them is left. It is used
// after a return to the best stage.
func (h hardCases) among(keys []string) []FailedCase {
	out := slices.DeleteFunc(slices.Clone(h.failed), func(c FailedCase) bool {
		return !slices.Contains(keys, c.Key)
	})
	if len(out) == 0 {
		return h.failed
	}
	return out
}
