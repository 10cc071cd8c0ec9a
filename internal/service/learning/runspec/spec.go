// Package runspec is what the runs of memory building and learning have in common:
// the configuration that a run is pinned to when it is accepted, how it asks its
// model, and the results of its steps, of which the first one stays.
package runspec

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Spec is what a new run is given by whoever accepts it.
type Spec struct {
	Model  Model  `json:"model"`
	Timing Timing `json:"timing"`
}

// Model is who answers a run, and what it is told.
type Model struct {
	Name         string            `json:"name"`
	Instructions map[string]string `json:"instructions"` // rendered system messages by stage and language: remember.en
	Repairs      int               `json:"repairs"`      // more rounds after an answer that does not fit
}

var stages = []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Diagnose, prompt.Propose, prompt.Probe}

// InstructionKey names the instructions of a stage in a language.
func InstructionKey(stage prompt.Stage, lang string) string { return string(stage) + "." + lang }

// WithInstructions renders what the model will be told.
func (m Model) WithInstructions() (Model, error) {
	m.Instructions = map[string]string{}
	for _, stage := range stages {
		for _, lang := range []string{"en", "zh"} {
			text, err := prompt.Instructions(stage, lang)
			if err != nil {
				return m, fmt.Errorf("render the instructions of %s in %s: %w", stage, lang, err)
			}
			m.Instructions[InstructionKey(stage, lang)] = text
		}
	}
	return m, nil
}

// Timing bounds the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // one model step, with its repairs
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker is taken for dead
	Database  time.Duration `json:"database"`  // one database step
	GiveUp    time.Duration `json:"give_up"`   // a step with all its retries
}

// StepTimeouts is the timing as workflows see it.
func (t Timing) StepTimeouts() contract.StepTimeouts {
	return contract.StepTimeouts{Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database, GiveUp: t.GiveUp}
}

// Decode reads the configuration of a run.
func Decode[T any](r run.Run) (s T, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %d: %w", r.Ref.Run, err)
	}
	return s, err
}

// Language is that of a prompt's template.
func Language(said []transcript.Message) string {
	if lang.OfMessages(said) == lang.Chinese {
		return "zh"
	}
	return "en"
}

// Due asks whether the banks of a workspace have enough to learn from.
type Due struct {
	Workspace    int64
	WorkspaceKey string
	Spec         Spec
	Least        int // new cases or outcomes of a bank that make a run, at least 1
}

// Read reads a run with its configuration, and with its result when it has ended.
func Read[S, R any](ctx context.Context, tx Tx, ref run.Ref) (r run.Run, spec S, over *R, err error) {
	if r, err = tx.Runs().Run(ctx, ref.Run); err != nil {
		return r, spec, nil, err
	}
	if r.Status == run.Ended {
		over = new(R)
		if err := json.Unmarshal(r.Result, over); err != nil {
			return r, spec, nil, fmt.Errorf("decode the result of run %d: %w", ref.Run, err)
		}
		return r, spec, over, nil
	}
	spec, err = Decode[S](r)
	return r, spec, nil, err
}
