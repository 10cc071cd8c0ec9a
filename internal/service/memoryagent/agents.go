package memoryagent

import (
	"context"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memory"
	"cairn/internal/service/tools"
)

// AgentHooks runs the memory agents in the agent loop of package agentrun.
type AgentHooks struct{ *Service }

var (
	_ agentrun.Agent          = AgentHooks{}
	_ agentrun.MultipartAgent = AgentHooks{}
)

// Tools returns the tools of the run's profile.
func (s AgentHooks) Tools(w agentrun.RunView) (agentrun.Tools, error) {
	p, err := pinned(w)
	if err != nil {
		return nil, err
	}
	list, err := p.Profile.Tools(s.LongTerm)
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(list...)
}

// Subject returns the target, session and author of a run. A specialist extends its lease with each
// step. If another run has held the lease in between, the entries that the specialist has read may
// be outdated. Subject then returns an error, which ends the run.
func (s AgentHooks) Subject(ctx context.Context, w agentrun.RunView, fence int64) (out agent.MemoryScope, err error) {
	p, err := pinned(w)
	if err != nil {
		return out, err
	}
	out = agent.MemoryScope{Type: string(p.Type), Target: p.Target, Author: p.Author, Fence: fence}
	if out.History, err = s.history(ctx, w, p); err != nil || w.Run.Kind != run.Specialist {
		return out, err
	}
	out.Metadata, out.Categories = p.choices().Metadata, p.choices().Categories
	a := actor(w, "lease", 0)
	a.Subject = out
	lease, err := s.LongTerm.TakeLease(ctx, a, holder(w.Run), contract.LeaseFor(w.Spec.Timeouts()))
	if fault.CodeOf(err) == fault.Unavailable || err == nil && lease.Fence != fence {
		err = fault.New(fault.VersionConflict, "another run has written to the target",
			"summarize the session again")
	}
	return out, err
}

// Brief returns the prompt of a run, with the current state of memory and the input of the run.
func (s AgentHooks) Brief(ctx context.Context, w agentrun.RunView, short bool) (out agentrun.PromptInput, err error) {
	p, err := pinned(w)
	if err != nil {
		return out, err
	}
	known, err := s.known(ctx, w, p)
	if err != nil {
		return out, err
	}
	if out.System, err = prompt.Agent(w.Spec.Lang, p.Prompt, known); err != nil {
		return out, err
	}
	out.System, out.Unthinking = p.Profile.WithOwnNames(out.System), p.Profile.Options.Unthinking
	m := prompt.Material{Question: p.Question, Messages: p.Messages, Language: w.Spec.Lang}
	if w.Run.Kind != run.Retrieve {
		if err := s.session(ctx, w, p, &m, short); err != nil {
			return out, err
		}
	}
	user, err := prompt.User(m)
	out.Messages = llm.User(user)
	return out, err
}

// known returns the current state of memory for a prompt.
func (s AgentHooks) known(ctx context.Context, w agentrun.RunView, p PinnedSpec) (out prompt.AgentContext, err error) {
	out = prompt.AgentContext{Now: time.Now().UTC().Format("2006-01-02 15:04 (Monday)"), Type: string(p.Type),
		Target: p.Target, Guidance: p.choices().Guidance}
	if w.Run.Kind == run.Specialist {
		return out, nil
	}
	a := actor(w, "brief", 0)
	if w.Run.Kind == run.Summarize {
		if len(p.Parts) > 1 {
			_, next, _ := divided(w, p)
			out.Part, out.Parts = next+1, len(p.Parts)
		}
		identity, err := s.LongTerm.ReadIdentity(ctx, a)
		if err != nil {
			return out, err
		}
		out.Identity = identity.Content
	}
	meta, err := s.LongTerm.ReadMeta(ctx, a,
		memory.MetaArgs{Tools: p.Profile.Options.ToolMemory, Identity: p.Profile.Options.IdentityMemory,
			Types: p.Profile.Options.Types, Only: p.Profile.Options.Only})
	out.Meta = meta.Text
	return out, err
}

func holder(r run.Run) string { return "run/" + r.Ref.Op("lease", 0) }
