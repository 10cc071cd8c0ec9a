// Package idle reads conversations in which nobody has said anything for a while:
// it has what nobody has read yet remembered and distilled.
package idle

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/memoryagent"
)

// Store reads conversations and runs.
type Store interface {
	ReadIdle(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Tx is a transaction in a workspace.
type Tx interface {
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	Channel(ctx context.Context, conversation int64) (string, error)
	Run(ctx context.Context, id int64) (run.Run, error)
}

// Agents has conversations remembered by agents, and keeps how far each was read.
type Agents interface {
	SummarizeIdle(ctx context.Context, in memoryagent.Idle) (*run.Run, error)
	Unread(ctx context.Context, ws, conversation int64, kind run.Kind) (from, to int, err error)
	Read(ctx context.Context, ws, conversation int64, kind run.Kind, to int, run int64) error
}

// Builder has conversations remembered with memory skills.
type Builder interface {
	AcceptIdle(ctx context.Context, in build.IdleRequest) (*run.Run, error)
}

// Distiller accepts distillations.
type Distiller interface {
	Accept(ctx context.Context, r distill.Request) (made run.Run, isNew bool, err error)
}

// Learner lets memory skills learn from what was said.
type Learner interface {
	LearnEarly(ctx context.Context, ws int64)
}

// Days tells which conversations a reflection reads.
type Days interface {
	Conversations(ctx context.Context, ref run.Ref) ([]int64, error)
}

// Specs are the configurations that new runs are pinned to.
type Specs struct {
	Agents  func() agentrun.Spec
	Build   func() runspec.Spec
	Distill func() distill.Spec
}

// Ports are what the service works with.
type Ports struct {
	Store     Store
	Agents    Agents
	Builder   Builder
	Distiller Distiller
	Learner   Learner
	Days      Days
	Specs     Specs
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("idle", map[string]any{"Store": p.Store, "Agents": p.Agents, "Builder": p.Builder,
		"Distiller": p.Distiller, "Learner": p.Learner, "Days": p.Days, "Specs.Agents": p.Specs.Agents,
		"Specs.Build": p.Specs.Build, "Specs.Distill": p.Specs.Distill})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Read has a conversation remembered, by agents or with memory skills as its
// workspace chose, and distilled if there is enough in it. Another call reads only
// what was said since.
func (s *Service) Read(ctx context.Context, in contract.IdleInput) (out contract.IdleResult, err error) {
	made, err := s.Agents.SummarizeIdle(ctx, memoryagent.Idle{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
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

// Build has what nobody has read yet remembered with memory skills if the workspace
// chose them. It returns the run, or 0 if there is nothing to do.
func (s *Service) Build(ctx context.Context, in contract.IdleInput) (int64, error) {
	made, err := s.Builder.AcceptIdle(ctx, build.IdleRequest{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		Conversation: in.Conversation, Spec: s.Specs.Build(), Keeping: runspec.DefaultSpanOptions()})
	if err != nil || made == nil {
		return 0, err
	}
	s.Learner.LearnEarly(ctx, in.Workspace) // corrections in what was said are failures, too
	return made.Ref.Run, nil
}

// distill has what was not distilled yet distilled if there is enough in it. It
// returns the run, or 0.
func (s *Service) distill(ctx context.Context, in contract.IdleInput) (int64, error) {
	from, to, err := s.Agents.Unread(ctx, in.Workspace, in.Conversation, run.Distill)
	if err != nil || from > to {
		return 0, err
	}
	var c transcript.Conversation
	var channel string
	err = s.Store.ReadIdle(ctx, in.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if c, err = tx.Conversation(ctx, in.Conversation, 0, to); err == nil {
			channel, err = tx.Channel(ctx, in.Conversation)
		}
		return err
	})
	if err != nil || len(c.Messages) <= from {
		return 0, err
	}
	spec := s.Specs.Distill()
	// What is too little now stays unread, so that it counts when more was said.
	if !spec.Gate.Decide(c.Messages[from:], transcript.ExtractAuto).Pass {
		return 0, nil
	}
	r, _, err := s.Distiller.Accept(ctx, distill.Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey,
		ID: fmt.Sprintf("idle-%d-%d", in.Conversation, to), Conversation: c, Channel: channel, Spec: spec, From: from})
	if fault.CodeOf(err) == fault.VersionConflict { // somebody has said something meanwhile
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("distill an idle conversation: %w", err)
	}
	return r.Ref.Run, s.Agents.Read(ctx, in.Workspace, in.Conversation, run.Distill, to, r.Ref.Run)
}

// ReadDay reads the conversations of a reflection as if they were idle, but has them
// remembered with memory skills only. It returns the distillations that are to be
// started. A conversation that was erased meanwhile is left out.
func (s *Service) ReadDay(ctx context.Context, reflection run.Ref, workspaceKey string) (
	out contract.DistillDayResult, err error) {
	conversations, err := s.Days.Conversations(ctx, reflection)
	if err != nil {
		return out, err
	}
	for _, c := range conversations {
		id, err := s.buildAndDistill(ctx,
			contract.IdleInput{Workspace: reflection.Workspace, WorkspaceKey: workspaceKey, Conversation: c})
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		if id == 0 {
			continue
		}
		err = s.Store.ReadIdle(ctx, reflection.Workspace, func(ctx context.Context, tx Tx) error {
			made, err := tx.Run(ctx, id)
			if err == nil && made.Status != run.Ended {
				out.Distills = append(out.Distills, contract.DistillToStart{WorkflowID: made.WorkflowID,
					Conversation: made.Conversation, Input: distill.Input(workspaceKey, made)})
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *Service) buildAndDistill(ctx context.Context, in contract.IdleInput) (int64, error) {
	if _, err := s.Build(ctx, in); err != nil {
		return 0, err
	}
	return s.distill(ctx, in)
}
