package memoryagent

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Idle is a conversation without recent messages.
type Idle struct {
	Workspace    int64
	WorkspaceKey string
	Conversation int64
	Spec         agentrun.Spec
}

// SummarizeIdle starts a run that summarizes the new messages of a conversation. It returns nil in
// three cases: there are no new messages, a run of the conversation is open, or the workspace
// builds memories with memory skills.
func (s *Service) SummarizeIdle(ctx context.Context, in Idle) (out *run.Run, err error) {
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		out = nil
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderAgents {
			return err
		}
		from, to, err := unread(ctx, tx, in.Conversation, run.Summarize)
		if err != nil || from > to {
			return err
		}
		to = min(to, from+memories.SessionMessages-1) // the rest is read when the conversation is idle again
		if _, open, err := tx.AgentRuns().OpenRunOf(ctx, run.Summarize, in.Conversation); err != nil || open {
			return err
		}
		c, err := tx.Transcripts().Conversation(ctx, in.Conversation, from, to)
		if err != nil {
			return err
		}
		messages := memory.Dialogue(c.Messages)
		if len(messages) == 0 {
			return nil
		}
		key := fmt.Sprintf("idle/%d/%d-%d", in.Conversation, from, to)
		before, _, err := tx.Runs().RunOf(ctx, run.Summarize, key) // a failed run is repeated
		if err != nil {
			return err
		}
		generation := before.Generation + 1
		r, err := s.accept(ctx, tx, Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Spec: in.Spec},
			chosen.Memory, messages,
			run.NewAgentRun{Kind: run.Summarize, Key: key, Generation: generation, ArgsSHA: sha256.Sum256([]byte(key)),
				Conversation: in.Conversation,
				WorkflowID: contract.SummarizeID(in.WorkspaceKey, fmt.Sprintf("idle-%d-%d", in.Conversation, to),
					generation)}, true)
		out = &r
		return err
	})
	if err == nil && out != nil {
		s.start(ctx, in.WorkspaceKey, *out)
	}
	return out, err
}

// Unread returns the range of messages that were not processed by runs of a kind. If there are
// none, from is greater than to. The conversation is locked during the transaction.
func (s *Service) Unread(ctx context.Context, ws, conversation int64, kind run.Kind) (from, to int, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		from, to, err = unread(ctx, tx, conversation, kind)
		return err
	})
	return from, to, err
}

func unread(ctx context.Context, tx store.Tx, conversation int64, kind run.Kind) (from, to int, err error) {
	c, err := tx.Conversations().LockConversation(ctx, conversation)
	if err != nil {
		return 0, -1, err
	}
	read, err := tx.AgentRuns().Mark(ctx, conversation, kind)
	return read + 1, c.NextSeq - 1, err
}

// Read records that a run has processed the messages up to to.
func (s *Service) Read(ctx context.Context, ws, conversation int64, kind run.Kind, to int, id string) error {
	return s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		return tx.AgentRuns().SetMark(ctx, conversation, kind, to, id)
	})
}
