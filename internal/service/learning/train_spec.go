package learning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/memoryagent"
)

// TrainSpec is what a training is pinned to.
type TrainSpec struct {
	Spec
	Keeping    SpanOptions `json:"keeping"`
	Bank       string      `json:"bank"`
	BankID     int64       `json:"bank_id"`
	Base       int         `json:"base"` // version of the bank that it began on
	Recipe     string      `json:"recipe"`
	Stages     int         `json:"stages"`
	Iterations int         `json:"iterations"` // of a stage
	Episodes   int         `json:"episodes"`   // of an iteration
	Parallel   int         `json:"parallel"`   // episodes at once; the result is the same for any
	Seed       string      `json:"seed"`
	Score      string      `json:"score"`
	Design     bool        `json:"design"`           // a round of the designer after each stage
	Sample     float64     `json:"sample,omitempty"` // share of a trace's questions that an episode asks, by category; 0 and 1 are all
	// Fuse is how the policy fuses the memories near a span, mean or sim_weighted;
	// empty is as the policy in force does. Temperature is τ of sim_weighted, 0 the
	// default.
	Fuse        string  `json:"fuse,omitempty"`
	Temperature float64 `json:"fuse_temperature,omitempty"`
	Traces      []int64 `json:"traces"` // conversations to train on
	// Held are the conversations that are not trained on: what was trained comes into
	// force only when it is better on them than what is.
	Held []int64 `json:"held"`
}

// TrainRequest asks to train a bank's policy, and with Design the bank too.
type TrainRequest struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // the caller's; empty takes it from the settings and the bank's version
	TrainSpec
}

// Usual settings of a training: what was published.
const (
	UsualStages     = 10
	UsualIterations = 100
	UsualEpisodes   = 4
	trainK          = 3
)

// Train makes a training durable and has its workflow started. The same request
// on the same version of the bank gives the same run.
func (s *Service) Train(ctx context.Context, r TrainRequest) (out run.Run, err error) {
	spec := r.TrainSpec
	spec.Bank = bankName(spec.Bank)
	for _, d := range []struct {
		value *int
		usual int
	}{{&spec.Stages, UsualStages}, {&spec.Iterations, UsualIterations}, {&spec.Episodes, UsualEpisodes}, {&spec.Parallel, UsualEpisodes}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
		if *d.value < 1 || *d.value > 10_000 {
			return out, fault.Newf(fault.InvalidArgument, "a setting of the training is %d; it is 1 to 10,000", *d.value)
		}
	}
	if spec.Recipe == "" {
		spec.Recipe = memoryskill.TargetRecipe
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, err
	}
	spec.Keeping.Mode = cmp.Or(spec.Keeping.Mode, recipe.Spans)
	spec.Keeping = spec.Keeping.usual(trainK)
	if err := spec.Keeping.check(); err != nil {
		return out, err
	}
	if spec.Score == "" {
		spec.Score = ByRecall
	}
	if !slices.Contains([]string{ByRecall, ByAnswer}, spec.Score) {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("answers cannot be scored by %q", spec.Score), "use recall or answer")
	}
	if !(spec.Sample >= 0 && spec.Sample <= 1) {
		return out, fault.Newf(fault.InvalidArgument, "the share of questions is %v; it is 0 to 1", spec.Sample)
	}
	if spec.Seed == "" {
		spec.Seed = "42"
	}
	if spec.Model, err = spec.Model.instructed(); err != nil {
		return out, err
	}
	err = s.Store.WithEvolve(ctx, r.Workspace, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, spec.Bank)
		if err != nil {
			return err
		}
		spec.BankID, spec.Base = head.ID, head.Head
		if r.Keeping.Mode == "" && spec.Recipe == memoryskill.TargetRecipe {
			if spec.Keeping.Mode, err = cutting(ctx, tx, spec.Keeping.Mode); err != nil {
				return err
			}
		}
		if _, err := head.Policy.Shape().Fused(spec.Fuse, spec.Temperature); err != nil {
			return err
		}
		all, _, err := s.traces(ctx, tx, head.ID)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("bank %q has no questions with known answers", spec.Bank), "import traces: cairn train --traces FILE")
		}
		if spec.Traces, spec.Held = split(all); len(spec.Held) == 0 {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("bank %q has questions about one conversation only, and none can be held out: nothing would come into force", spec.Bank), "import two conversations or more: cairn train --traces FILE")
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			return fmt.Errorf("encode the configuration: %w", err)
		}
		key := r.ID
		if key == "" {
			plain := spec
			plain.Parallel, plain.Spec = 0, Spec{}
			settings, _ := json.Marshal(plain)
			key = fmt.Sprintf("%x", sha256.Sum256(settings))[:20]
		}
		key = spec.Bank + "/" + key
		out, err = tx.Runs().PutAgentRun(ctx, memoryagent.NewRun{Kind: run.Train, Key: key, Generation: 1, ArgsSHA: sha256.Sum256([]byte(key)), Spec: raw, WorkflowID: contract.TrainID(r.WorkspaceKey, spec.Bank, contract.VisibleKey(key))})
		if err != nil || out.Status == run.Ended {
			return err
		}
		return tx.Runs().EnqueueRun(ctx, out.Ref.Run)
	})
	if err == nil {
		s.start(ctx, r.WorkspaceKey, out)
	}
	return out, err
}

// IterationResult is what an iteration came to.
type IterationResult struct {
	Stage     int                `json:"stage"`
	Iteration int                `json:"iteration"`
	Reward    float64            `json:"reward"` // mean of its episodes
	Known     bool               `json:"known"`
	Policy    string             `json:"policy"`
	Optimiser string             `json:"optimiser"`
	Steps     int                `json:"steps"`
	Failed    int                `json:"failed_spans,omitempty"`
	Outcomes  Outcomes           `json:"outcomes,omitzero"` // of its spans and questions
	Choice    policy.Diagnostics `json:"choice,omitzero"`   // how decided its choices were, at the mean
}

// Staged is where a training stands after a stage: with what the next one begins.
type Staged struct {
	Progress  designer.Progress `json:"progress"`
	Stop      bool              `json:"stop"`
	Bank      Candidate         `json:"bank"`
	Policy    string            `json:"policy"`
	Optimiser string            `json:"optimiser"`
	Changed   int               `json:"changed"` // the stage that began with the bank's new skills, -1 when they were there before the training
	Note      string            `json:"note,omitempty"`
	Failed    []string          `json:"failed,omitempty"` // edits that made nothing better
	Pending   string            `json:"pending,omitempty"`
	Kept      []BankSnapshot    `json:"kept,omitempty"` // the bank of each snapshot
	Hard      []BufferedCase    `json:"hard,omitempty"` // the designer's buffer of hard cases
}

// BufferedCase is a case in the buffer of a training. It holds none of the case's text, for
// a stage is kept when the conversation that the case is about is erased.
type BufferedCase struct {
	Case      int64   `json:"case"`
	Score     float64 `json:"score"`
	Failures  int     `json:"failures"`
	Iteration int     `json:"iteration"` // of the training, of its last failure
}

// BankSnapshot is the bank of a snapshot, so that it can be gone back to.
type BankSnapshot struct {
	Snapshot string    `json:"snapshot"`
	Bank     Candidate `json:"bank"`
	Changed  int       `json:"changed,omitempty"` // as in Staged
}

// TrainingResult is what a training came to.
type TrainingResult struct {
	Outcome    run.Outcome `json:"outcome"`
	Bank       string      `json:"bank"`
	Version    int         `json:"bank_version,omitempty"` // that was promoted; 0 when the gate kept it out
	Stages     int         `json:"stages"`
	Iterations int         `json:"iterations"`
	Best       float64     `json:"best_score"`
	Policy     string      `json:"policy,omitempty"`
	Rewards    []float64   `json:"rewards"` // of each iteration
	Note       string      `json:"note,omitempty"`
	// Gate compares the best stage with what was in force, on held-out traces; nil
	// when that could not be told. Outcomes are those of the training's iterations.
	Gate     *designer.Comparison `json:"gate,omitempty"`
	Outcomes Outcomes             `json:"outcomes,omitzero"`
}

func stageStep(stage int) string { return fmt.Sprintf("stage/%04d", stage) }
func iterationStep(stage, iteration int) string {
	return fmt.Sprintf("%s/iteration/%05d", stageStep(stage), iteration)
}
func episodeStep(stage, iteration, episode int) string {
	return fmt.Sprintf("episode/%04d/%05d/%03d", stage, iteration, episode)
}
