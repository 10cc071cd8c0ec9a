package learning

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
)

// Model is who answers a run, and what it is told.
type Model struct {
	Name         string            `json:"name"`
	Instructions map[string]string `json:"instructions"` // rendered system messages by stage and language: remember.en
	Repairs      int               `json:"repairs"`      // more rounds after an answer that does not fit
}

var stages = []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Diagnose, prompt.Propose, prompt.Probe}

func instructionKey(stage prompt.Stage, lang string) string { return string(stage) + "." + lang }

// instructed renders what models will be told.
func (m Model) instructed() (Model, error) {
	m.Instructions = map[string]string{}
	for _, stage := range stages {
		for _, lang := range []string{"en", "zh"} {
			text, err := prompt.Instructions(stage, lang)
			if err != nil {
				return m, fmt.Errorf("render the instructions of %s in %s: %w", stage, lang, err)
			}
			m.Instructions[instructionKey(stage, lang)] = text
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

// Pace is the timing as workflows see it.
func (t Timing) Pace() contract.StepTimeouts {
	return contract.StepTimeouts{Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database, GiveUp: t.GiveUp}
}

// SpanOptions says how spans are remembered.
type SpanOptions struct {
	executor.Spanning
	K    int `json:"k"`     // skills chosen for a span
	TopN int `json:"top_n"` // memories that it is shown
}

// Defaults of remembering: what was published for conversations.
func DefaultKeeping() SpanOptions {
	return SpanOptions{Spanning: executor.DefaultSpans(), K: 7, TopN: 20}
}

// usual fills what is open: k skills for a span, and the rest as it was published
// for conversations. Windows with a size of their own share nothing unless it says so.
func (k SpanOptions) usual(skills int) SpanOptions {
	d := DefaultKeeping()
	if k.Tokens == 0 {
		k.Tokens, k.Overlap = d.Tokens, cmp.Or(k.Overlap, d.Overlap)
	}
	k.Mode, k.Pause, k.K, k.TopN = cmp.Or(k.Mode, d.Mode), cmp.Or(k.Pause, d.Pause), cmp.Or(k.K, skills), cmp.Or(k.TopN, d.TopN)
	return k
}

// check refuses what nothing can be remembered by.
func (k SpanOptions) check() error {
	if err := k.Spanning.Check(); err != nil {
		return err
	}
	if k.K < 1 || k.K > mostKept || k.TopN < 1 || k.TopN > mostKept {
		return fault.Newf(fault.InvalidArgument, "%d skills for a span that is shown %d memories; both are 1 to %d", k.K, k.TopN, mostKept)
	}
	return nil
}

const mostKept = 10_000

// Spec is what a new run is given by whoever accepts it.
type Spec struct {
	Model  Model  `json:"model"`
	Timing Timing `json:"timing"`
}

// BuildSpec is what a build is pinned to.
type BuildSpec struct {
	Spec
	Keeping SpanOptions `json:"keeping"`
	Lang    string      `json:"lang"`
	Bank    string      `json:"bank"`
	BankID  int64       `json:"bank_id"`
	Version int         `json:"bank_version"`
	FromSeq int         `json:"from_seq"`
	ToSeq   int         `json:"to_seq"`
	Tainted bool        `json:"tainted,omitempty"`
	Author  string      `json:"author"` // model@prompt-hash
	Idle    bool        `json:"idle,omitempty"`
}

func specOf[T any](r run.Run) (s T, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %d: %w", r.Ref.Run, err)
	}
	return s, err
}
