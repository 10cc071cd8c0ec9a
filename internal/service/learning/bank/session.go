package bank

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// ExtractionSpec is the pinned configuration of a build.
type ExtractionSpec struct {
	RunSpec
	Keeping SpanOptions `json:"keeping"`
	Lang    string      `json:"lang"`
	Bank    string      `json:"bank"`
	BankID  int64       `json:"bank_id"`
	Version int         `json:"bank_version"`
	FromSeq int         `json:"from_seq"`
	ToSeq   int         `json:"to_seq"`
	Tainted bool        `json:"tainted,omitempty"`
	Author  string      `json:"author"` // model@prompt-hash
	Idle    bool        `json:"idle,omitempty"`
}

// Session is a build with its spans.
type Session struct {
	Run   run.Run
	Spec  ExtractionSpec
	Spans []executor.Span
}

// ReadSession reads the session of a build. Secrets are removed.
func ReadSession(ctx context.Context, tx store.Tx, id string) (s Session, err error) {
	if s.Run, err = tx.Runs().Run(ctx, id); err != nil {
		return s, err
	}
	if s.Spec, err = DecodeReply[ExtractionSpec](s.Run); err != nil {
		return s, err
	}
	c, err := tx.Transcripts().Conversation(ctx, s.Run.Conversation, s.Spec.FromSeq, s.Spec.ToSeq)
	if err != nil {
		return s, err
	}
	said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Dialogue(c.Messages))
	s.Spans = executor.Spans(said, s.Spec.Keeping.Spanning)
	return s, nil
}

// Actor returns the actor of the memory writes in a step of the build.
func (s Session) Actor(step string, call int) agent.Actor {
	return agent.Actor{Workspace: s.Run.Workspace, Origin: agent.OriginDistill, Run: s.Run.Ref.Run,
		Conversation: s.Run.Conversation, FromSeq: s.Spec.FromSeq, ToSeq: s.Spec.ToSeq, Op: s.Run.Op(step, call),
		Tainted: s.Spec.Tainted, Subject: agent.MemoryScope{Author: s.Spec.Author}}
}
