package train

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// IterationResult is the result of an iteration.
type IterationResult struct {
	Stage     int                      `json:"stage"`
	Iteration int                      `json:"iteration"`
	Reward    float64                  `json:"reward"` // mean of its episodes
	Known     bool                     `json:"known"`
	Policy    string                   `json:"policy"`
	Optimizer string                   `json:"optimizer"`
	Steps     int                      `json:"steps"`
	Failed    int                      `json:"failed_spans,omitempty"`
	Outcomes  learning.EpisodeOutcomes `json:"outcomes,omitzero"` // of its spans and questions
	Choice    policy.Diagnostics       `json:"choice,omitzero"`   // mean decisiveness of its choices
}

// StageResult is the state of a training after a stage, with which the next stage begins.
type StageResult struct {
	Progress  designer.Progress      `json:"progress"`
	Stop      bool                   `json:"stop"`
	Bank      learning.BankCandidate `json:"bank"`
	Policy    string                 `json:"policy"`
	Optimizer string                 `json:"optimizer"`
	// Stage that began with the new skills of the bank; -1 if they are older than the training.
	Changed int            `json:"changed"`
	Note    string         `json:"note,omitempty"`
	Failed  []string       `json:"failed,omitempty"` // edits that brought no improvement
	Pending string         `json:"pending,omitempty"`
	Kept    []BankSnapshot `json:"kept,omitempty"` // bank of each snapshot
	Hard    []BufferedCase `json:"hard,omitempty"` // buffered hard cases
}

// BufferedCase is a hard case in the buffer of a training. It contains no text, because it is kept
// when the conversation of the case is erased.
type BufferedCase struct {
	Case      int64   `json:"case"`
	Score     float64 `json:"score"`
	Failures  int     `json:"failures"`
	Iteration int     `json:"iteration"` // iteration of the last failure
}

// BankSnapshot is the bank of a snapshot, to which a training can return.
type BankSnapshot struct {
	Snapshot string                 `json:"snapshot"`
	Bank     learning.BankCandidate `json:"bank"`
	Changed  int                    `json:"changed,omitempty"` // see StageResult
}

func stageStep(stage int) string { return fmt.Sprintf("stage/%04d", stage) }

func iterationStep(stage, iteration int) string {
	return fmt.Sprintf("%s/iteration/%05d", stageStep(stage), iteration)
}

func episodeStep(stage, iteration, episode int) string {
	return fmt.Sprintf("episode/%04d/%05d/%03d", stage, iteration, episode)
}

// readSpec reads a run with its pinned configuration.
func readSpec(ctx context.Context, tx store.Tx, ref run.Ref) (run.Run, Spec, error) {
	r, err := tx.Runs().Run(ctx, ref.Run)
	if err != nil {
		return r, Spec{}, err
	}
	spec, err := bank.DecodeReply[Spec](r)
	return r, spec, err
}

// readResults adds up the steps of a training, and returns its last stage.
func readResults(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec) (out learning.TrainingResult,
	last StageResult,
	err error) {
	out = learning.TrainingResult{Outcome: run.Completed, Bank: spec.Bank, Rewards: []float64{}}
	raw, err := tx.Training().StepResults(ctx, ref.Run, "stage/")
	if err != nil {
		return out, last, err
	}
	for _, step := range slices.Sorted(maps.Keys(raw)) {
		var one IterationResult
		if err := json.Unmarshal(raw[step], &one); err == nil && one.Policy != "" && len(step) > len(stageStep(0)) {
			out.Rewards, out.Outcomes = append(out.Rewards, one.Reward), out.Outcomes.Plus(one.Outcomes)
			out.Iterations++
			continue
		}
		last = StageResult{}
		if err := json.Unmarshal(raw[step], &last); err != nil {
			return out, last, err
		}
		out.Stages++
	}
	return out, last, nil
}
