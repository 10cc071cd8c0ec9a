package app

import (
	"context"

	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/settings"
	"cairn/internal/service/curate"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/evaluation/profiles"
)

// OfflineAnswering returns the offline model, which answers in the plumbing test of learning.
func OfflineAnswering() *evaluation.Answering {
	return &evaluation.Answering{Model: offlinemodel.New(0), Name: offlinemodel.ModelName}
}

// Profiles returns the ports of the measurement of memory agent profiles.
func (h *App) Profiles() profiles.Cairn {
	return profiles.Cairn{Workspaces: profiled{h}, Agents: h.Progressive, Wait: h.Driver.Ended,
		Spec: TurnSpec(h.Config)}
}

// profiled provides the workspaces in which profiles are measured.
type profiled struct{ *App }

func (p profiled) MakeWorkspace(ctx context.Context, name string, modes settings.Modes) (int64, string, error) {
	ws, err := p.Store.Workspace(ctx, name, true)
	if err != nil {
		return 0, "", err
	}
	return ws.ID, ws.Key, p.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		s, err := q.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		s.Memory.Modes = modes
		return q.Workspaces().SetSettings(ctx, s)
	})
}

// maxRuns exceeds the number of runs of one measurement.
const maxRuns = 200

func (p profiled) Insights(ctx context.Context, ws int64, days int) (curate.Insights, error) {
	return p.App.Workspaces.Insights(ctx, ws, days)
}

func (p profiled) ToolCalls(ctx context.Context, ws int64) (all, failed int, err error) {
	err = p.Store.InWorkspace(ctx, ws, func(ctx context.Context, q postgres.Tx) error {
		runs, err := q.Runs().Runs(ctx, maxRuns)
		if err != nil {
			return err
		}
		for _, one := range runs {
			steps, err := q.Steps().Steps(ctx, one.Run.Ref.Run)
			if err != nil {
				return err
			}
			for _, s := range steps {
				all += len(s.Calls)
				for _, c := range s.Calls {
					if c.Code != "" {
						failed++
					}
				}
			}
		}
		return nil
	})
	return all, failed, err
}
