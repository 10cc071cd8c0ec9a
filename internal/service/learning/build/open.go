package build

import (
	"context"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Result is the result of a build.
type Result struct {
	Outcome run.Outcome              `json:"outcome"`
	Trace   string                   `json:"trace,omitempty"`
	Bank    string                   `json:"bank"`
	Version int                      `json:"bank_version"`
	Spans   int                      `json:"spans"`
	Actions map[executor.Outcome]int `json:"actions"` // number of actions by outcome
	Added   []string                 `json:"added"`
	Updated []string                 `json:"updated"`
	Deleted []string                 `json:"deleted"`
	Failed  int                      `json:"failed_spans,omitempty"`
}

// Open marks a run as started and stores its session. If an earlier attempt has ended the run, over
// is set.
func (s *Service) Open(ctx context.Context, ref run.Ref) (spans int, over *Result, err error) {
	var session bank.Session
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if _, _, over, err = bank.ReadSpec[bank.ExtractionSpec, Result](ctx, tx, ref); err != nil || over != nil {
			return err
		}
		session, err = bank.ReadSession(ctx, tx, ref.Run)
		return err
	})
	if err != nil || over != nil {
		return 0, over, err
	}
	if _, err := s.ports.Memories.AddRange(ctx, session.Actor("session", 0),
		memory.Evidence{Conversation: session.Run.Conversation, FromSeq: session.Spec.FromSeq,
			ToSeq: session.Spec.ToSeq}); err != nil {
		return 0, nil, err
	}
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return len(session.Spans), nil, err
}
