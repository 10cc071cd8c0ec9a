package live

import (
	"context"
	"log/slog"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Memories searches memories like any other question.
type Memories interface {
	Rank(ctx context.Context, ws int64, r memory.SearchRequest) ([]memory.RankedItem, error)
}

// ProbesPorts are the dependencies of the service.
type ProbesPorts struct {
	Store    *store.Store
	Banks    *bank.Service
	Encoder  bank.Encoder
	Asker    bank.Asker
	Memories Memories
	Log      *slog.Logger
}

// Probes tests memories with self-made questions. After a build, a model generates questions
// from the session, and the memories that a search finds are scored. The score is an outcome of the
// decisions behind these memories, from which the policy may learn.
type Probes struct{ ports ProbesPorts }

// NewProbes returns a service.
func NewProbes(p ProbesPorts) *Probes {
	return &Probes{p}
}

// List lists the probes of a bank, latest run first.
func (s *Probes) List(ctx context.Context, ws int64, name string, most int) (out []learning.Probe, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, name)
		if err == nil {
			out, err = tx.Probes().Probes(ctx, head.ID, most)
		}
		return err
	})
	return out, err
}

// Open marks a probing run as started. If an earlier attempt has ended the run, over is set.
func (s *Probes) Open(ctx context.Context, ref run.Ref) (over *ProbeResult, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if _, _, over, err = bank.ReadSpec[ProbeSpec, ProbeResult](ctx, tx, ref); err != nil || over != nil {
			return err
		}
		_, err = tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return over, err
}
