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

// Modes of extraction. Simple asks for the core fields of a skill in one call. Full also plans and
// writes scripts and reference documents.
const (
	Simple = "simple"
	Full   = "full"
)

// Options are the options of a request.
type Options struct {
	Mode    string `json:"mode"`              // simple or full
	Extract string `json:"extract,omitempty"` // auto, always or never: whether to apply the gate
	// Outcome is how the conversation ended, as a person states it. Empty means what its file states.
	Outcome transcript.Verdict `json:"outcome,omitempty"`
}

// Limits bound a run.
type Limits struct {
	MaxTasks int `json:"max_tasks"`
	// of each tool message in prompts; the store keeps the full text
	ToolOutputChars int     `json:"tool_output_chars"`
	Context         int     `json:"context"` // of the models, in tokens; 0 means 128,000
	RecallTopK      int     `json:"recall_top_k"`
	RecallMinSim    float64 `json:"recall_min_sim"` // cosine similarity
	// cosine similarity from which a draft updates an existing skill
	MergeSim float64 `json:"merge_sim"`
	// drafts below it are skipped; drafts without a confidence are accepted
	MinConfidence   float64 `json:"min_confidence"`
	HistoryMessages int     `json:"history_messages"` // shown before the first message of the run
	HistoryChars    int     `json:"history_chars"`    // of these messages together, newest first
	StrictEvidence  bool    `json:"strict_evidence"`  // a draft must cite its source messages
	Repairs         int     `json:"repairs"`          // further calls after output that does not decode
	Parallel        int     `json:"parallel"`         // concurrent model calls of the run
	MinQuality      float64 `json:"min_quality"`      // 0–10; a new skill below it is a draft
	KeepVersions    int     `json:"keep_versions"`    // of each skill; 0 keeps all
}

// Timing bounds the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // one model step, with its repairs
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker counts as dead
	Database  time.Duration `json:"database"`  // one database step
	GiveUp    time.Duration `json:"give_up"`   // a step with all its retries
}

// Spec is the configuration of a run, pinned when the run is accepted. A deployment changes neither
// the prompts nor the limits of a run in progress.
type Spec struct {
	Options
	From int             `json:"from"` // first message
	To   int             `json:"to"`   // last message, inclusive
	Gate transcript.Gate `json:"gate"`
	// Redact removes secrets from prompts, and secrets and values of the case from skills.
	Redact    bool   `json:"redact"`
	Quality   bool   `json:"quality"`           // a model judges each draft
	Approval  bool   `json:"approval"`          // new skills and changes of active ones need approval
	NameStyle string `json:"name_style"`        // hyphen or underscore in the folder name of the package
	Profile   string `json:"profile,omitempty"` // of new skills: skill.AgentProfile (default) or skill.SeedProfile
	// Models are set by the first step of a run, from the configuration of its worker. By role.
	Models map[string]string `json:"models"`
	Cache  string            `json:"cache,omitempty"` // one of the Cache constants; empty means that of the worker
	// rendered instructions by stage and language, for example segment.en
	Instructions map[string]string `json:"instructions"`
	Limits       Limits            `json:"limits"`
	Timing       Timing            `json:"timing"`
}

var languages = []string{"en", "zh"}

var stages = []prompt.Stage{prompt.Distill, prompt.Segment, prompt.Notes, prompt.Extract, prompt.ExtractSimple,
	prompt.Merge, prompt.Files, prompt.Judge, prompt.Compare}

// pin renders the instructions and encodes the configuration with them.
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

// Timeouts returns the activity timeouts of the run's steps.
func (s Spec) Timeouts() contract.StepTimeouts {
	t := s.Timing
	return contract.StepTimeouts{Tasks: s.Limits.Parallel, Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database,
		GiveUp: t.GiveUp}
}

// TimeoutsOf reads the timeouts of a pinned configuration. It returns the zero value if the
// configuration is invalid or incomplete.
func TimeoutsOf(pinned json.RawMessage) contract.StepTimeouts {
	var s struct { // skips the instructions, which are long
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

// Input returns the input of the distillation workflow of r.
func Input(workspaceKey string, r run.Run) contract.DistillInput {
	return contract.DistillInput{WorkflowID: r.WorkflowID, Timeouts: TimeoutsOf(r.Spec),
		RunRef: contract.RefOf(workspaceKey, r)}
}

func instructionKey(stage prompt.Stage, lang string) string { return string(stage) + "." + lang }
