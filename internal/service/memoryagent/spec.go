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

// Result is the result of a tool call.
type Result = tools.Result

// PinnedSpec is the pinned configuration of an agent run, in addition to agentrun.Spec.
type PinnedSpec struct {
	Version string        `json:"version,omitempty"`
	Prompt  string        `json:"prompt"`
	Profile tools.Profile `json:"profile,omitzero"`
	Author  string        `json:"author"` // model@prompt-hash

	Workspace string          `json:"workspace"`         // opaque key, for the workflow IDs of child runs
	Way       string          `json:"way,omitempty"`     // settings.AddFast if one model call adds the session
	Idle      bool            `json:"idle,omitempty"`    // started for an idle conversation, not by a request
	Targets   []memory.Task   `json:"targets,omitempty"` // registered before the first response
	Choices   *RequestOptions `json:"choices,omitempty"` // of the request; also apply to its specialists

	Type    memory.Type `json:"memory_type,omitempty"` // of a specialist
	Target  string      `json:"memory_target,omitempty"`
	History string      `json:"ref_memory_id,omitempty"`
	Step    int         `json:"step,omitempty"` // step of the parent that handed it off

	Question string           `json:"question,omitempty"` // of a retriever
	Messages []prompt.Message `json:"messages,omitempty"` // messages before the question
	Metadata map[string]any   `json:"metadata,omitempty"` // metadata of the request
	Refining *Refining        `json:"refining,omitempty"` // refinement of a fast search, without an agent
	Turns    *turnFilter      `json:"turns,omitempty"`    // of the question, if it limits the turns of an answer

	// Parts of a session that is too long for one request. A specialist has one.
	Parts []Part `json:"parts,omitempty"`
	Part  int    `json:"part,omitempty"` // of a specialist: number of its part, from 1
}

// pin builds the configuration of a run.
func pin(base agentrun.Spec, d Definition, p PinnedSpec, s settings.LongTerm) (agentrun.Spec, error) {
	base.Origin, base.Channel = agent.OriginDistill, "chat"
	base.Budget = agent.Budget{Max: d.Calls, Wall: d.Wall}
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

// choices returns the options of the request, or the zero value.
func (p PinnedSpec) choices() RequestOptions {
	if p.Choices == nil {
		return RequestOptions{}
	}
	return *p.Choices
}

func pinned(w agentrun.RunView) (p PinnedSpec, err error) {
	if err = json.Unmarshal(w.Spec.Pinned, &p); err != nil {
		err = fmt.Errorf("decode the configuration of run %s: %w", w.Run.Ref.Run, err)
	}
	return p, err
}

// pinnedOf decodes both parts of the configuration of a run.
func pinnedOf(r run.Run) (agentrun.RunView, PinnedSpec, error) {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return agentrun.RunView{}, PinnedSpec{}, err
	}
	w := agentrun.RunView{Run: r, Spec: spec}
	p, err := pinned(w)
	return w, p, err
}
