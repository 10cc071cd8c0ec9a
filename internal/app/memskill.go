package app

import (
	"context"

	"cairn/internal/domain/access"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/ledger"
)

// evaluations wires the evaluations of memory skills.
func (h *App) evaluations(calls *ledger.Ledger, prices llm.Prices) *evaluation.Service {
	p := evaluation.Ports{Store: h.Store, Workspaces: evaluated{h}, Banks: h.Learning.Banks,
		Builds: h.Learning.Builds, Cases: h.Learning.Cases, Trainings: h.Learning.Trainings, Memories: h.LongTerm,
		Asker: calls, Starter: noStarter{}, Prices: prices, Embedder: h.Embedder.Model(), Log: h.Log}
	if h.Temporal != nil {
		p.Starter = h.Driver
	}
	return evaluation.New(p)
}

// evaluated makes the workspaces of evaluations.
type evaluated struct{ h *App }

func (e evaluated) MakeWorkspace(ctx context.Context, name string) (access.Workspace, error) {
	return e.h.Store.Workspace(ctx, name, true)
}

// noStarter starts nothing; the relay starts the runs.
type noStarter struct{}

func (noStarter) Start(context.Context, string, string, run.Run) error { return nil }
