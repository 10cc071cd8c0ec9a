package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/library"
	"cairn/internal/service/longterm"
	"cairn/internal/service/offload"
	"cairn/internal/service/promptmemory"
	"cairn/internal/service/tools"
)

// TurnSpec is the configuration that a new turn is pinned to.
func TurnSpec(c config.Config) agentrun.Spec {
	return agentrun.Spec{
		Model:  cmp.Or(c.Model, offlineModel),
		Limits: agentLimits(c),
		Timing: agentrun.Timing{Model: c.Timeout + time.Minute, Tool: c.ToolTimeout, Heartbeat: c.Heartbeat,
			Database: c.DatabaseStep, GiveUp: giveUp},

		SessionTTL: c.SessionTTL,
	}
}

// NudgeSpec is the configuration that a new review is pinned to.
func NudgeSpec(c config.Config) agentrun.Spec {
	s := TurnSpec(c)
	s.Model = cmp.Or(c.ModelNudge, s.Model)
	s.Limits.InputTokens = nudgeInputTokens
	return s
}

func agentLimits(c config.Config) agentrun.Limits {
	return agentrun.Limits{Window: c.ModelWindow, HistoryTokens: c.TurnHistoryTokens, ResultChars: c.ToolResultChars,
		MaxTokens: c.ReplyTokens, NudgeMessages: nudgeMessages}
}

// FlushSpec is the configuration that a review before a compaction is pinned to.
func FlushSpec(c config.Config) agentrun.Spec {
	s := NudgeSpec(c)
	s.Limits.Window = cmp.Or(c.ModelWindowNudge, c.ModelWindow)
	s.Limits.InputTokens = min(s.Limits.InputTokens, s.Limits.Window)
	s.Timing.GiveUp = recordPatience
	return s
}

// OffloadSpec is the configuration that a new run of working memory is pinned to.
func OffloadSpec(c config.Config) offload.Spec {
	s := FlushSpec(c)
	return offload.Spec{Model: s.Model, Timing: s.Timing,
		Limits: offload.Limits{ResultChars: recordResultChars, MaterialTokens: min(groupTokens, s.Limits.Window/2),
			Repairs: 1, ReplyTokens: c.ReplyTokens}}
}

const (
	recordPatience    = 2 * time.Minute // for a record: the thread goes on without one
	recordResultChars = 2_000           // of one tool result that a record is made of
	groupTokens       = 12_000          // of the messages that one record is made of
)

// nudgeInputTokens is what all requests of one review may cost together: a long
// conversation must not make its reviews dear.
const nudgeInputTokens = 100_000

// nudgeMessages are shown to a review word for word; older ones in short.
const nudgeMessages = 24

// conversationLimits bound one run of a Conversation.
func conversationLimits(c config.Config) contract.ConversationLimits {
	return contract.ConversationLimits{Close: c.ConversationClose, Turns: c.ConversationTurns}
}

// promptContext is what a session is told of its workspace.
type promptContext struct {
	memory *promptmemory.Service
	skills *library.Library
	about  *longterm.Service
}

// Remembered reads the soul, the prompt memories and the index of skills.
func (k promptContext) Remembered(ctx context.Context, ws int64) (out prompt.SessionContext, err error) {
	m, err := k.memory.Prompt(ctx, ws)
	if err != nil {
		return out, err
	}
	out.Soul = m.Soul
	for _, line := range m.Profile {
		out.Profile = append(out.Profile, line.Text)
	}
	for _, line := range m.Core {
		out.Core = append(out.Core, line.Text)
	}
	index, err := k.skills.Index(ctx, ws)
	out.Skills = index.Text()
	return out, err
}

// About reads who the agent is, and whom there are memories about.
func (k promptContext) About(ctx context.Context, ws int64) (identity, meta string, err error) {
	a := agent.Actor{Workspace: ws, Origin: agent.OriginAgent}
	v, err := k.about.ReadIdentity(ctx, a)
	if err != nil {
		return "", "", err
	}
	m, err := k.about.ReadMeta(ctx, a, longterm.MetaArgs{Tools: true, Identity: true})
	return v.Content, m.Text, err
}

// registry is every tool, in the order in which models are told of them.
func (h *App) registry() (*tools.Registry, error) {
	all, err := h.answering()
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(all...)
}

// usual are the tools of the agent that answers turns, with those that a
// workspace has to choose.
func (h *App) usual() ([]tools.Tool, error) {
	skills, err := tools.Skills(h.Library)
	if err != nil {
		return nil, err
	}
	memory, err := tools.Memory(h.Memory)
	if err != nil {
		return nil, err
	}
	soul, err := tools.Soul(h.Memory)
	if err != nil {
		return nil, err
	}
	disclosure, err := tools.Disclosure(h.Library)
	if err != nil {
		return nil, err
	}
	return slices.Concat(skills, soul, memory, disclosure), nil
}

// answering are the tools of turns: the usual ones, those that look into what a
// conversation has put away, and commands where they are on.
func (h *App) answering() ([]tools.Tool, error) {
	usual, err := h.usual()
	if err != nil {
		return nil, err
	}
	away, err := tools.WorkingMemory(h.Offload)
	if err != nil {
		return nil, err
	}
	return h.withShell(slices.Concat(usual, away))
}

// approver decides about changes of skills that wait.
type approver struct{ h *App }

func (a approver) Decide(ctx context.Context, ws, pending int64, approve bool) (skill int64, version int, err error) {
	if !approve {
		return 0, 0, a.h.Library.RejectChange(ctx, ws, pending)
	}
	head, err := a.h.Library.ApproveChange(ctx, ws, pending)
	return head.ID, head.Version, err
}

var _ agentrun.Tools = (*tools.Registry)(nil)
