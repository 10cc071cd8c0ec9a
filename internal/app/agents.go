package app

import (
	"context"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/ledger"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/offload"
	"cairn/internal/service/tools"
)

// buildAgents wires conversations, the agent loop and the agents.
func (h *App) buildAgents(calls *ledger.Ledger, transcriber *agentrun.Transcriber) (err error) {
	c := h.Config
	if h.Tools, err = h.registry(); err != nil {
		return err
	}
	h.Inbox = conversation.New(conversation.Ports{Store: h.Store.Conversations()})
	h.AgentRuns = agentrun.New(agentrun.Ports{Store: h.Store, Ledger: calls, Tools: h.Tools,
		Transcriber: transcriber, Replies: h.openReplies(), Memory: promptContext{h.Memory, h.Library, h.LongTerm},
		Compactor: offload.ConversationCompactor{Service: h.Offload,
			Spec: func() offload.Spec { return OffloadSpec(c) }},
		NudgeSpec: func() agentrun.Spec { return NudgeSpec(c) },
		FlushSpec: func() agentrun.Spec { return FlushSpec(c) }})
	return h.registerAgents()
}

// registerAgents registers the memory agents in the agent loop and builds their tools.
func (h *App) registerAgents() (err error) {
	h.Progressive = memoryagent.New(memoryagent.Ports{Store: h.Store, LongTerm: h.LongTerm,
		Loop: h.AgentRuns, Registry: memoryagent.NewRegistry(), Ledger: h.AgentRuns.Ledger, MaxAdds: h.Config.OpenAdds})
	h.Adds = memoryagent.NewAdder(memoryagent.AdderPorts{Store: h.Store, LongTerm: h.LongTerm, Finder: h.Finder,
		Calls: h.AgentRuns.Ledger})
	performer := memoryagent.AgentHooks{Service: h.Progressive}
	h.AgentRuns.Agents = map[run.Kind]agentrun.Agent{run.Summarize: performer, run.Specialist: performer,
		run.Retrieve: performer, run.Completion: completion.TaskAgent{}}
	if err := h.registerReflection(); err != nil {
		return err
	}
	retriever, err := tools.Retriever().Tools(h.LongTerm)
	if err != nil {
		return err
	}
	usual, err := h.usual()
	if err != nil {
		return err
	}
	answering, err := h.answering()
	if err != nil {
		return err
	}
	if h.AgentRuns.MemoryAgentTools, err = tools.NewRegistry(slices.Concat(answering, retriever)...); err != nil {
		return err
	}
	read, err := tools.RetrievalServer().Tools(h.LongTerm)
	if err != nil {
		return err
	}
	write, err := tools.MemoryServer(h.LongTerm, h.takeSession)
	if err != nil {
		return err
	}
	waiting, err := tools.Inbox(h.ReviewInbox)
	if err != nil {
		return err
	}
	sessions, err := tools.Sessions(h.Imports)
	if err != nil {
		return err
	}
	h.Offered, err = tools.NewRegistry(append(slices.Concat(usual, read, write), sessions, waiting)...)
	return err
}

// takeSession summarizes a session that another program's agent has sent. The same session is the
// same request.
func (h *App) takeSession(ctx context.Context, a agent.Actor, messages []transcript.Message,
	text string) (out tools.AcceptedSession, err error) {
	self, err := h.Store.Workspaces().Self(ctx, a.Workspace)
	if err != nil {
		return out, err
	}
	made, err := h.Progressive.Summarize(ctx, memoryagent.Request{Workspace: a.Workspace, WorkspaceKey: self.Key,
		Messages: messages, Query: text, Spec: TurnSpec(h.Config)})
	return tools.AcceptedSession{RequestID: made.Key, Status: string(made.Status)}, err
}

// buildIdle wires the service that processes idle conversations.
func (h *App) buildIdle() {
	h.Idle = memoryagent.NewIdleReader(memoryagent.IdleReaderPorts{Store: h.Store, Agents: h.Progressive,
		Builder:   h.Learning.Builds,
		Distiller: h.Distill, Learner: h.Feedback, Days: h.Reflect,
		Specs: memoryagent.Specs{Agents: h.turnSpec, Build: h.learnSpec,
			Distill: func() distill.Spec { return DistillSpec(h.Config, transcript.ExtractAuto) }}})
	h.AgentRuns.Builder = h.Idle
}
