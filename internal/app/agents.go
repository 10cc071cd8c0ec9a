package app

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	memorybuild "cairn/internal/service/learning/build"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/tools"
)

// registerAgents brings the agents of long-term memory into the loop.
func (h *App) registerAgents() (err error) {
	h.Progressive, err = memoryagent.New(memoryagent.Ports{Store: h.Store.Progressive(), LongTerm: h.LongTerm,
		Loop: h.AgentRuns, Registry: memoryagent.NewRegistry(), Ledger: h.AgentRuns.Ledger})
	if err != nil {
		return err
	}
	performer := memoryagent.AgentHooks{Service: h.Progressive}
	h.AgentRuns.Agents = map[run.Kind]agentrun.Agent{run.Summarize: performer, run.Specialist: performer,
		run.Retrieve: performer}
	if err := h.registerReflection(); err != nil {
		return err
	}
	look, err := tools.Retriever().Tools(h.LongTerm)
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
	if h.AgentRuns.MemoryAgentTools, err = tools.NewRegistry(slices.Concat(answering, look)...); err != nil {
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
	h.Offered, err = tools.NewRegistry(slices.Concat(usual, read, write)...)
	return err
}

// takeSession has a session made memories of that an agent of another program tells.
// The same session is the same request.
func (h *App) takeSession(ctx context.Context, a agent.Actor, messages []transcript.Message,
	text string) (out tools.SessionTaken, err error) {
	r := memoryagent.Request{Workspace: a.Workspace, Messages: messages, Query: text, Spec: TurnSpec(h.Config)}
	err = h.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, q postgres.Tx) error {
		r.WorkspaceKey, err = q.Workspaces().Key(ctx)
		return err
	})
	if err != nil {
		return out, err
	}
	made, err := h.Progressive.Summarize(ctx, r)
	return tools.SessionTaken{RequestID: made.Key, Status: string(made.Status)}, err
}

// readIdle has an idle conversation remembered, by agents or with memory skills as
// its workspace chose, and distilled when there is
// enough in it: the gate is asked when the distillation opens.
func (h *App) readIdle(ctx context.Context, in contract.IdleInput) (out contract.IdleResult, err error) {
	made, err := h.Progressive.SummarizeIdle(ctx,
		memoryagent.Idle{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Conversation: in.Conversation,
			Spec: TurnSpec(h.Config)})
	if err != nil {
		return out, err
	}
	if made != nil {
		out.Summarize = made.Ref.Run
	}
	if out.Build, err = h.buildIdle(ctx, in); err != nil {
		return out, err
	}
	out.Distill, err = h.distillIdle(ctx, in)
	return out, err
}

// buildIdle has what nobody has read yet remembered with memory skills, where the
// workspace chose them; 0 is no run.
func (h *App) buildIdle(ctx context.Context, in contract.IdleInput) (int64, error) {
	made, err := h.Learning.Builds.AcceptIdle(ctx,
		memorybuild.IdleRequest{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Conversation: in.Conversation,
			Spec: EvolveSpec(h.Config), Keeping: runspec.DefaultSpanOptions()})
	if err != nil || made == nil {
		return 0, err
	}
	h.Feedback.LearnEarly(ctx, in.Workspace) // corrections in what was said are failures, too
	return made.Ref.Run, nil
}

func (h *App) distillIdle(ctx context.Context, in contract.IdleInput) (int64, error) {
	from, to, err := h.Progressive.Unread(ctx, in.Workspace, in.Conversation, run.Distill)
	if err != nil || from > to {
		return 0, err
	}
	var c transcript.Conversation
	var channel string
	err = h.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, q postgres.Tx) (err error) {
		if c, err = q.Transcripts().Conversation(ctx, in.Conversation, 0, to); err == nil {
			channel, err = q.Transcripts().Channel(ctx, in.Conversation)
		}
		return err
	})
	if err != nil || len(c.Messages) <= from {
		return 0, err
	}
	spec := DistillSpec(h.Config, transcript.ExtractAuto)
	// more may be said: what is too little now counts then
	if !spec.Gate.Decide(c.Messages[from:], transcript.ExtractAuto).Pass {
		return 0, nil
	}
	r, _, err := h.Distill.Accept(ctx, distill.Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		ID:           fmt.Sprintf("idle-%d-%d", in.Conversation, to),
		Conversation: c, Channel: channel, Spec: spec, From: from})
	if fault.CodeOf(err) == fault.VersionConflict { // somebody has said something meanwhile
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("distil an idle conversation: %w", err)
	}
	return r.Ref.Run, h.Progressive.Read(ctx, in.Workspace, in.Conversation, run.Distill, to, r.Ref.Run)
}

// ReadIdle has a conversation read as if it had gone idle now.
func (h *App) ReadIdle(ctx context.Context, workspaceKey string, ws, conversation int64) (contract.IdleResult, error) {
	return h.readIdle(ctx, contract.IdleInput{Workspace: ws, WorkspaceKey: workspaceKey, Conversation: conversation})
}
