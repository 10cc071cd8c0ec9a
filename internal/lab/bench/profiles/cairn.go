package profiles

import (
	"context"

	"cairn/internal/app"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// Of returns what is measured of an App.
func Of(h *app.App) Cairn {
	return Cairn{Workspaces: profiled{h}, Agents: h.Progressive, Wait: h.Driver.Ended, Spec: app.TurnSpec(h.Config)}
}

// profiled provides the workspaces in which profiles are measured.
type profiled struct{ *app.App }

func (p profiled) MakeWorkspace(ctx context.Context, name string, modes settings.Modes) (int64, string, error) {
	ws, err := p.Store.Workspace(ctx, name, true)
	if err != nil {
		return 0, "", err
	}
	return ws.ID, ws.Key, p.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q store.Tx) error {
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

func (p profiled) Insights(ctx context.Context, ws int64, days int) (readmodel.Insights, error) {
	return p.App.Workspaces.Insights(ctx, ws, days)
}

func (p profiled) ToolCalls(ctx context.Context, ws int64) (all, failed int, err error) {
	err = p.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
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
