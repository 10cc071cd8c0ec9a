package distill

import (
	"context"

	"cairn/internal/domain/run"
)

// Progress is the changing part of a run's status. It is much cheaper to read than a Report.
type Progress struct {
	Run     string         `json:"run"`
	Status  run.Status     `json:"status"`
	Outcome run.Outcome    `json:"outcome,omitempty"`
	Attempt int            `json:"attempt"` // increased by a retry
	Tasks   []TaskProgress `json:"tasks"`
	Calls   int            `json:"model_calls"`
	Tokens  int64          `json:"tokens"`
}

// TaskProgress is the progress of one task.
type TaskProgress struct {
	Key     string  `json:"key"`
	Name    string  `json:"task"`
	Stage   Stage   `json:"stage"`
	Outcome Outcome `json:"outcome,omitempty"`
}

// Progress returns the progress of a run. It may be called several times per second.
func (s *Service) Progress(ctx context.Context, ref run.Ref) (p Progress, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		p, err = tx.Runs().Progress(ctx, ref.Run)
		return err
	})
	return p, err
}
