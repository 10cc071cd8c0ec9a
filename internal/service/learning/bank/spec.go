package bank

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// RunSpec is the configuration of a new run.
type RunSpec struct {
	Model  Model  `json:"model"`
	Timing Timing `json:"timing"`
}

// Model configures the model calls of a run.
type Model = memoryskill.Model

// InstructionKey returns the key of the instructions of a stage in a language.
func InstructionKey(stage prompt.Stage, lang string) string {
	return memoryskill.InstructionKey(stage, lang)
}

// Timing contains the timeouts of the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // model step with repairs
	Heartbeat time.Duration `json:"heartbeat"` // worker is considered lost after this silence
	Database  time.Duration `json:"database"`  // database step
	GiveUp    time.Duration `json:"give_up"`   // step with all retries
}

// StepTimeouts returns the timeouts in the form that workflows use.
func (t Timing) StepTimeouts() contract.StepTimeouts {
	return contract.StepTimeouts{Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database, GiveUp: t.GiveUp}
}

// DecodeReply decodes the configuration of a run.
func DecodeReply[T any](r run.Run) (s T, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %s: %w", r.Ref.Run, err)
	}
	return s, err
}

// LanguageOf returns the language of the prompt templates for messages.
func LanguageOf(messages []transcript.Message) string {
	if lang.OfMessages(messages) == lang.Chinese {
		return "zh"
	}
	return "en"
}

// Due selects the banks of a workspace that have enough new data to learn from.
type Due struct {
	Workspace    int64
	WorkspaceKey string
	Spec         RunSpec
	Least        int // minimum number of new cases or outcomes of a bank, at least 1
}

// ReadSpec reads a run with its configuration, and its result if it has ended.
func ReadSpec[S, R any](ctx context.Context, tx store.Tx, ref run.Ref) (r run.Run, spec S, over *R, err error) {
	if r, err = tx.Runs().Run(ctx, ref.Run); err != nil {
		return r, spec, nil, err
	}
	if r.Status == run.Ended {
		over = new(R)
		if err := json.Unmarshal(r.Result, over); err != nil {
			return r, spec, nil, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
		}
		return r, spec, over, nil
	}
	spec, err = DecodeReply[S](r)
	return r, spec, nil, err
}
