package build

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// IdleRequest is a conversation without recent messages.
type IdleRequest struct {
	Workspace    int64
	WorkspaceKey string
	Conversation int64
	Spec         bank.RunSpec
	Keeping      bank.SpanOptions
}

// AcceptIdle builds memories of the unread messages, if the workspace uses memory skills. It
// returns nil if there is nothing to do. Agents and memory skills share the mark of read messages,
// so a workspace can switch between them.
func (s *Service) AcceptIdle(ctx context.Context, in IdleRequest) (out *run.Run, err error) {
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = s.acceptIdle(ctx, tx, in)
		return err
	})
	if err == nil && out != nil {
		bank.StartRun(ctx, s.ports.Starter, in.WorkspaceKey, *out)
	}
	return out, err
}

func (s *Service) acceptIdle(ctx context.Context, tx store.Tx, in IdleRequest) (*run.Run, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || chosen.Memory.Builder != settings.BuilderSkills {
		return nil, err
	}
	c, err := tx.Conversations().LockConversation(ctx, in.Conversation)
	if err != nil {
		return nil, err
	}
	read, err := tx.AgentRuns().Mark(ctx, in.Conversation, run.Summarize)
	if err != nil || read+1 > c.NextSeq-1 {
		return nil, err
	}
	from, to := read+1, c.NextSeq-1
	if _, open, err := tx.AgentRuns().OpenRunOf(ctx, run.Build, in.Conversation); err != nil || open {
		return nil, err
	}
	whole, err := tx.Transcripts().Conversation(ctx, in.Conversation, from, to)
	if err != nil {
		return nil, err
	}
	messages := memory.Dialogue(whole.Messages)
	if len(messages) == 0 {
		return nil, nil
	}
	head, err := s.ports.Banks.ReadHead(ctx, tx, bank.Default)
	if err != nil {
		return nil, err
	}
	if err := bank.RecordCorrections(ctx, tx, head.ID, in.Conversation, from, to); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("idle/%d/%d-%d", in.Conversation, from, to)
	before, _, err := tx.Runs().RunOf(ctx, run.Build, key) // a failed run is repeated
	if err != nil {
		return nil, err
	}
	if err := bank.Complete(ctx, tx, &in.Keeping, false); err != nil {
		return nil, err
	}
	generation, place := before.Generation+1, fmt.Sprintf("idle-%d-%d", in.Conversation, to)
	r, err := s.accept(ctx, tx, Request{Spec: in.Spec, Keeping: in.Keeping}, messages, true,
		run.NewAgentRun{Kind: run.Build, Key: key, Generation: generation, ArgsSHA: sha256.Sum256([]byte(key)),
			Conversation: in.Conversation, WorkflowID: contract.BuildID(in.WorkspaceKey, place, generation)})
	return &r, err
}
