package memoryagent

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/store"
)

// Agents builds memories with agents, and stores up to which message each conversation was read.
type Agents interface {
	SummarizeIdle(ctx context.Context, in Idle) (*run.Run, error)
	Unread(ctx context.Context, ws, conversation int64, kind run.Kind) (from, to int, err error)
	Read(ctx context.Context, ws, conversation int64, kind run.Kind, to int, run string) error
}

// Learner starts learning runs early if there are enough new outcomes.
type Learner interface {
	LearnEarly(ctx context.Context, ws int64)
}

// Days lists the conversations that a reflection reads.
type Days interface {
	Conversations(ctx context.Context, ref run.Ref) ([]int64, error)
}

// Specs returns the configurations to which new runs are pinned.
type Specs struct {
	Agents  func() agentrun.Spec
	Build   func() bank.RunSpec
	Distill func() distill.Spec
}

// IdleReaderPorts are the dependencies of the service. All are required.
type IdleReaderPorts struct {
	Store     *store.Store
	Agents    Agents
	Builder   *build.Service
	Distiller *distill.Service
	Learner   Learner
	Days      Days
	Specs     Specs
}

// IdleReader processes conversations without recent messages. It stores memories of the unread
// messages and distills them into skills.
type IdleReader struct{ IdleReaderPorts }

// NewIdleReader returns a service.
func NewIdleReader(p IdleReaderPorts) *IdleReader {
	return &IdleReader{IdleReaderPorts: p}
}

// Read builds memories of the unread messages of a conversation. The settings of the workspace
// select agents or memory skills. If the unread messages pass the gate, Read also distills them.
func (s *IdleReader) Read(ctx context.Context, in contract.IdleInput) (out contract.IdleResult, err error) {
	made, err := s.Agents.SummarizeIdle(ctx, Idle{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		Conversation: in.Conversation, Spec: s.Specs.Agents()})
	if err != nil {
		return out, err
	}
	if made != nil {
		out.Summarize = made.Ref.Run
	}
	if out.Build, err = s.Build(ctx, in); err != nil {
		return out, err
	}
	out.Distill, err = s.distill(ctx, in)
	return out, err
}

// Build builds memories of unread messages with memory skills, if the workspace uses them. It
// returns the run ID, or "" if there is nothing to do.
func (s *IdleReader) Build(ctx context.Context, in contract.IdleInput) (string, error) {
	made, err := s.Builder.AcceptIdle(ctx, build.IdleRequest{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		Conversation: in.Conversation, Spec: s.Specs.Build(), Keeping: bank.DefaultSpanOptions()})
	if err != nil || made == nil {
		return "", err
	}
	s.Learner.LearnEarly(ctx, in.Workspace) // corrections in the messages are hard cases
	return made.Ref.Run, nil
}

// distill distills the unread messages if they pass the gate. It returns the run ID, or "".
func (s *IdleReader) distill(ctx context.Context, in contract.IdleInput) (string, error) {
	from, to, err := s.Agents.Unread(ctx, in.Workspace, in.Conversation, run.Distill)
	if err != nil || from > to {
		return "", err
	}
	var c transcript.Conversation
	var channel string
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if c, err = tx.Transcripts().Conversation(ctx, in.Conversation, 0, to); err == nil {
			channel, err = tx.Transcripts().Channel(ctx, in.Conversation)
		}
		return err
	})
	if err != nil || len(c.Messages) <= from {
		return "", err
	}
	spec := s.Specs.Distill()
	// If the gate rejects the messages, they stay unread, so that they are included next time.
	if !spec.Gate.Decide(c.Messages[from:], transcript.ExtractAuto).Pass {
		return "", nil
	}
	r, _, err := s.Distiller.Accept(ctx, distill.Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		ID: fmt.Sprintf("idle-%d-%d", in.Conversation, to), Conversation: c, Channel: channel, Spec: spec, From: from})
	if fault.CodeOf(err) == fault.VersionConflict { // the conversation has new messages
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("distill an idle conversation: %w", err)
	}
	return r.Ref.Run, s.Agents.Read(ctx, in.Workspace, in.Conversation, run.Distill, to, r.Ref.Run)
}

// ReadDay reads the conversations of a reflection as if they were idle, but builds memories with
// memory skills only. It returns the distillations to start. It skips conversations that were
// erased in the meantime.
func (s *IdleReader) ReadDay(ctx context.Context, reflection contract.RunRef) (
	out contract.DistillDayResult, err error) {
	conversations, err := s.Days.Conversations(ctx, reflection.Ref())
	if err != nil {
		return out, err
	}
	for _, c := range conversations {
		id, err := s.buildAndDistill(ctx,
			contract.IdleInput{Workspace: reflection.Workspace, WorkspaceKey: reflection.WorkspaceKey,
				Conversation: c})
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		if id == "" {
			continue
		}
		err = s.Store.InWorkspace(ctx, reflection.Workspace, func(ctx context.Context, tx store.Tx) error {
			made, err := tx.Runs().Run(ctx, id)
			if err == nil && made.Status != run.Ended {
				out.Distills = append(out.Distills, contract.DistillToStart{WorkflowID: made.WorkflowID,
					Conversation: made.Conversation, Input: distill.Input(reflection.WorkspaceKey, made)})
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *IdleReader) buildAndDistill(ctx context.Context, in contract.IdleInput) (string, error) {
	if _, err := s.Build(ctx, in); err != nil {
		return "", err
	}
	return s.distill(ctx, in)
}
