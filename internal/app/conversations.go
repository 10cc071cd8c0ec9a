package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
	"cairn/internal/service/offload"
	"cairn/internal/service/tools"
)

// TurnSpec returns the configuration that a new turn stores and keeps for its lifetime.
func TurnSpec(c config.Config) agentrun.Spec {
	model := cmp.Or(c.Model, llm.OfflineModel)
	return agentrun.Spec{
		Model:  model,
		Images: c.TakesImages(model),
		Limits: agentLimits(c),
		Timing: agentrun.Timing{Model: c.Timeout + time.Minute, Tool: c.ToolTimeout, Heartbeat: c.Heartbeat,
			Database: c.DatabaseStep, GiveUp: giveUp},

		SessionTTL: c.SessionTTL,
	}
}

// NudgeSpec returns the configuration that a new review stores.
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

// FlushSpec returns the configuration of a review that runs before a compaction.
func FlushSpec(c config.Config) agentrun.Spec {
	s := NudgeSpec(c)
	s.Limits.Window = cmp.Or(c.ModelWindowNudge, c.ModelWindow)
	s.Limits.InputTokens = min(s.Limits.InputTokens, s.Limits.Window)
	s.Timing.GiveUp = recordPatience
	return s
}

// OffloadSpec returns the configuration that a new working memory run stores.
func OffloadSpec(c config.Config) offload.Spec {
	s := FlushSpec(c)
	return offload.Spec{Model: s.Model, Timing: s.Timing,
		Limits: offload.Limits{ResultChars: recordResultChars, MaterialTokens: min(groupTokens, s.Limits.Window/2),
			Repairs: 1, ReplyTokens: c.ReplyTokens}}
}

const (
	recordPatience    = 2 * time.Minute // for a compaction; after it the thread continues without one
	recordResultChars = 2_000           // per tool result in the input of a compaction
	groupTokens       = 12_000          // input of one compaction
)

// nudgeInputTokens limits the input tokens of all requests of one review, so that reviews of long
// conversations stay cheap.
const nudgeInputTokens = 100_000

// nudgeMessages is the number of messages that a review gets in full. Older ones are shortened.
const nudgeMessages = 24

// conversationLimits bound one run of a Conversation.
func conversationLimits(c config.Config) contract.ConversationLimits {
	return contract.ConversationLimits{Close: c.ConversationClose, Turns: c.ConversationTurns}
}

// promptContext reads the parts of a prompt session that come from the workspace.
type promptContext struct {
	memory   *memory.PromptService
	skills   *library.Library
	longTerm *memory.LongTermService
}

// Remembered reads the soul, the prompt memories and the index of skills.
func (k promptContext) Remembered(ctx context.Context, ws int64) (out prompt.SessionContext, err error) {
	m, err := k.memory.Prompt(ctx, ws)
	if err != nil {
		return out, err
	}
	out.Soul = m.Soul
	for _, line := range m.Profile {
		out.Profile = append(out.Profile, prompt.Fact{Text: line.Text, Origin: line.Origin})
	}
	for _, line := range m.Core {
		out.Core = append(out.Core, prompt.Fact{Text: line.Text, Origin: line.Origin})
	}
	index, err := k.skills.Index(ctx, ws)
	out.Skills = index.Text()
	return out, err
}

// About reads the identity of the agent and the list of memory targets.
func (k promptContext) About(ctx context.Context, ws int64) (identity, meta string, err error) {
	a := agent.Actor{Workspace: ws, Origin: agent.OriginAgent}
	v, err := k.longTerm.ReadIdentity(ctx, a)
	if err != nil {
		return "", "", err
	}
	m, err := k.longTerm.ReadMeta(ctx, a, memory.MetaArgs{Tools: true, Identity: true})
	return v.Content, m.Text, err
}

// registry returns all tools of turns, in the order in which prompts list them.
func (h *App) registry() (*tools.Registry, error) {
	all, err := h.answering()
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(all...)
}

// usual returns the tools for skills, soul and memory, including those that a workspace has to
// enable.
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

// answering returns the tools of turns: the usual ones, those that read offloaded content, and the
// command tool if commands of skills are enabled.
func (h *App) answering() ([]tools.Tool, error) {
	usual, err := h.usual()
	if err != nil {
		return nil, err
	}
	offloaded, err := tools.WorkingMemory(h.Offload)
	if err != nil {
		return nil, err
	}
	return h.withShell(slices.Concat(usual, offloaded))
}

// decideChange approves or rejects a pending change of a skill.
func (h *App) decideChange(ctx context.Context, in contract.ApproveWriteInput) (contract.ApproveWriteResult, error) {
	if !in.Approve {
		return contract.ApproveWriteResult{}, h.Library.RejectChange(ctx, in.Workspace, in.Pending)
	}
	head, err := h.Library.ApproveChange(ctx, in.Workspace, in.Pending, approval.Decision{})
	return contract.ApproveWriteResult{Skill: head.ID, Version: head.Version}, err
}

var _ agentrun.Tools = (*tools.Registry)(nil)
