package distill

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Modes of extraction: simple asks for a skill's core fields in one call, full
// plans and writes scripts and reference documents too.
const (
	Simple = "simple"
	Full   = "full"
)

// Options are a request's own choices.
type Options struct {
	Mode    string `json:"mode"`              // simple or full
	Extract string `json:"extract,omitempty"` // auto, always or never: whether to ask the gate
}

// Limits bound a run.
type Limits struct {
	MaxTasks        int     `json:"max_tasks"`
	ToolOutputChars int     `json:"tool_output_chars"` // of each tool message, in prompts; the store keeps all of it
	InputTokens     int     `json:"input_tokens"`      // of one chunking call
	RecallTopK      int     `json:"recall_top_k"`
	RecallMinSim    float64 `json:"recall_min_sim"`   // cosine
	MergeSim        float64 `json:"merge_sim"`        // cosine from which a new skill is an old one
	MinConfidence   float64 `json:"min_confidence"`   // below it a draft is no skill; a draft without one is not asked
	HistoryMessages int     `json:"history_messages"` // before the first message of the run, to fill gaps
	HistoryChars    int     `json:"history_chars"`    // of these together, the newest first
	StrictEvidence  bool    `json:"strict_evidence"`  // a draft must cite the messages that it rests on
	Repairs         int     `json:"repairs"`          // more rounds after an answer that does not fit
	Parallel        int     `json:"parallel"`         // model calls of the run at once
	MinQuality      float64 `json:"min_quality"`      // 0–10; a new skill below it is a draft
	KeepVersions    int     `json:"keep_versions"`    // of each skill; 0 keeps all
}

// Timing bounds the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // one model step, with its repairs
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker is taken for dead
	Database  time.Duration `json:"database"`  // one database step
	GiveUp    time.Duration `json:"give_up"`   // a step with all its retries
}

// Spec is a run's configuration, pinned when the run is accepted: a deploy
// changes neither what a run under way is told nor how far it may go.
type Spec struct {
	Options
	From int             `json:"from"` // first message
	To   int             `json:"to"`   // last message, included
	Gate transcript.Gate `json:"gate"`
	// keep secrets from models, and secrets and the case's own values out of skills
	Redact       bool              `json:"redact"`
	Quality      bool              `json:"quality"`      // have a model judge each draft
	Approval     bool              `json:"approval"`     // new skills, and changes of those in force, wait for approval
	NameStyle    string            `json:"name_style"`   // hyphen or underscore: the package's folder
	Models       map[string]string `json:"models"`       // by stage
	Instructions map[string]string `json:"instructions"` // rendered system messages by stage and language: chunk.en
	Limits       Limits            `json:"limits"`
	Timing       Timing            `json:"timing"`
}

var languages = []string{"en", "zh"}

var stages = []prompt.Stage{prompt.Chunk, prompt.Rewrite, prompt.Extract, prompt.ExtractSimple, prompt.Merge,
	prompt.Scripts, prompt.Doc, prompt.Judge}

// pin renders what models will be told and encodes the configuration with it.
func (s Spec) pin() (json.RawMessage, error) {
	s.Instructions = make(map[string]string, len(stages)*len(languages))
	for _, stage := range stages {
		for _, lang := range languages {
			text, err := prompt.Instructions(stage, lang)
			if err != nil {
				return nil, fmt.Errorf("render the instructions of %s in %s: %w", stage, lang, err)
			}
			s.Instructions[instructionKey(stage, lang)] = text
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return raw, nil
}

// Timeouts is how long the run's steps may take.
func (s Spec) Timeouts() contract.StepTimeouts {
	t := s.Timing
	return contract.StepTimeouts{Tasks: s.Limits.Parallel, Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database,
		GiveUp: t.GiveUp}
}

// TimeoutsOf reads the pace from a pinned configuration. It is zero when it cannot be
// read, or is not whole.
func TimeoutsOf(pinned json.RawMessage) contract.StepTimeouts {
	var s struct { // without the instructions, which are long
		Limits struct {
			Parallel int `json:"parallel"`
		} `json:"limits"`
		Timing Timing `json:"timing"`
	}
	if json.Unmarshal(pinned, &s) != nil ||
		min(s.Timing.Model, s.Timing.Heartbeat, s.Timing.Database, s.Timing.GiveUp) <= 0 {
		return contract.StepTimeouts{}
	}
	return Spec{Limits: Limits{Parallel: s.Limits.Parallel}, Timing: s.Timing}.Timeouts()
}

// Input is what the workflow of a distillation starts with.
func Input(workspaceKey string, r run.Run) contract.DistillInput {
	return contract.DistillInput{WorkflowID: r.WorkflowID, Timeouts: TimeoutsOf(r.Spec),
		RunRef: contract.RunRef{Workspace: r.Ref.Workspace, WorkspaceKey: workspaceKey, Run: r.Ref.Run,
			Attempt: r.Attempt}}
}

func instructionKey(stage prompt.Stage, lang string) string { return string(stage) + "." + lang }
