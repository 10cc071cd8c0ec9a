package memoryagent

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/tools"
)

// Result is what became of a tool call.
type Result = tools.Result

// PinnedSpec is what a run of an agent is pinned to, beside what any run is.
type PinnedSpec struct {
	Version string        `json:"version"`
	Prompt  string        `json:"prompt"`
	Profile tools.Profile `json:"profile"`
	Author  string        `json:"author"` // model@prompt-hash

	Workspace string          `json:"workspace"`         // its opaque key, for the ids of children
	Idle      bool            `json:"idle,omitempty"`    // nobody asked: the conversation had gone idle
	Targets   []memory.Task   `json:"targets,omitempty"` // to be registered before the first response
	Choices   *RequestOptions `json:"choices,omitempty"` // of the request, for its specialists too

	Type    memory.Type `json:"memory_type,omitempty"` // of a specialist
	Target  string      `json:"memory_target,omitempty"`
	History string      `json:"ref_memory_id,omitempty"`
	Step    int         `json:"step,omitempty"` // of the parent that handed it off

	Question string           `json:"question,omitempty"` // of a retriever
	Messages []prompt.Message `json:"messages,omitempty"` // said before the question
	Metadata map[string]any   `json:"metadata,omitempty"` // of a session, as its request gave it
	Refining *Refining        `json:"refining,omitempty"` // of a fast search: there is no agent

	// of a session that is too long for one request; of a specialist, the one that it looks at
	Parts []Part `json:"parts,omitempty"`
	Part  int    `json:"part,omitempty"` // of a specialist: its number, from 1
}

// pin makes the configuration of a run.
func pin(base agentrun.Spec, d Definition, p PinnedSpec, s settings.LongTerm) (agentrun.Spec, error) {
	base.Origin, base.Channel = agent.OriginDistill, "chat"
	base.Budget = agent.ForAgent(d.Steps, d.Wall)
	base.Ordered = d.Kind == run.Summarize
	base.Interval = time.Duration(s.CallPause) * time.Millisecond
	system, err := prompt.Agent(base.Lang, d.Prompt, prompt.AgentContext{})
	if err != nil {
		return base, err
	}
	p.Version, p.Prompt, p.Profile, p.Author = d.Version, d.Prompt, d.Profile, base.Model+"@"+prompt.Hash(system)
	base.Pinned, err = json.Marshal(p)
	return base, err
}

// choices of the request; none when it made none.
func (p PinnedSpec) choices() RequestOptions {
	if p.Choices == nil {
		return RequestOptions{}
	}
	return *p.Choices
}

func pinned(w agentrun.RunView) (p PinnedSpec, err error) {
	if err = json.Unmarshal(w.Spec.Pinned, &p); err != nil {
		err = fmt.Errorf("decode what run %d is pinned to: %w", w.Run.Ref.Run, err)
	}
	return p, err
}

// pinnedOf reads both parts of a run's configuration.
func pinnedOf(r run.Run) (agentrun.RunView, PinnedSpec, error) {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return agentrun.RunView{}, PinnedSpec{}, err
	}
	w := agentrun.RunView{Run: r, Spec: spec}
	p, err := pinned(w)
	return w, p, err
}
