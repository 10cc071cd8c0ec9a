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
	"cairn/internal/service/longterm"
)

// Idle is a conversation in which nobody has said anything for a while.
type Idle struct {
	Workspace    int64
	WorkspaceKey string
	Conversation int64
	Spec         agentrun.Spec
}

// SummarizeIdle has what was said since the last time summarised. Out is nil when
// there is nothing new, when a run about the conversation is under way, or when
// the workspace makes its memories in another way.
func (s *Service) SummarizeIdle(ctx context.Context, in Idle) (out *run.Run, err error) {
	err = s.Store.WithProgressive(ctx, in.Workspace, func(ctx context.Context, tx Tx) error {
		out = nil
		chosen, err := tx.Workspace().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderAgents {
			return err
		}
		from, to, err := unread(ctx, tx, in.Conversation, run.Summarize)
		if err != nil || from > to {
			return err
		}
		to = min(to, from+longterm.SessionMessages-1) // the rest is read when it is idle again
		if _, open, err := tx.Agents().OpenRunOf(ctx, run.Summarize, in.Conversation); err != nil || open {
			return err
		}
		c, err := tx.Transcripts().Conversation(ctx, in.Conversation, from, to)
		if err != nil {
			return err
		}
		said := memory.Said(c.Messages)
		if len(said) == 0 {
			return nil
		}
		key := fmt.Sprintf("idle/%d/%d-%d", in.Conversation, from, to)
		before, _, err := tx.Runs().RunOf(ctx, run.Summarize, key) // one that failed is done again
		if err != nil {
			return err
		}
		generation := before.Generation + 1
		r, err := s.accept(ctx, tx, Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Spec: in.Spec},
			in.Conversation, said,
			NewRun{Kind: run.Summarize, Key: key, Generation: generation, ArgsSHA: sha256.Sum256([]byte(key)),
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

// Unread are the messages of a conversation that were not read for a kind of
// work; from is above to when there are none. The conversation stays locked.
func (s *Service) Unread(ctx context.Context, ws, conversation int64, kind run.Kind) (from, to int, err error) {
	err = s.Store.WithProgressive(ctx, ws, func(ctx context.Context, tx Tx) error {
		from, to, err = unread(ctx, tx, conversation, kind)
		return err
	})
	return from, to, err
}

func unread(ctx context.Context, tx Tx, conversation int64, kind run.Kind) (from, to int, err error) {
	c, err := tx.Workspace().LockConversation(ctx, conversation)
	if err != nil {
		return 0, -1, err
	}
	read, err := tx.Agents().Mark(ctx, conversation, kind)
	return read + 1, c.NextSeq - 1, err
}

// Read notes that a run has taken up messages for a kind of work.
func (s *Service) Read(ctx context.Context, ws, conversation int64, kind run.Kind, to int, id int64) error {
	return s.Store.WithProgressive(ctx, ws, func(ctx context.Context, tx Tx) error {
		return tx.Agents().SetMark(ctx, conversation, kind, to, id)
	})
}
