package distill

import (
	"context"

	"cairn/internal/domain/run"
)

// Progress is what changes while a run is watched. A Report says it all, and
// costs many times as much.
type Progress struct {
	Run     int64          `json:"run"`
	Status  run.Status     `json:"status"`
	Outcome run.Outcome    `json:"outcome,omitempty"`
	Attempt int            `json:"attempt"` // raised by a retry
	Tasks   []TaskProgress `json:"tasks"`
	Calls   int            `json:"model_calls"`
	Tokens  int64          `json:"tokens"`
}

// TaskProgress is how far one task is.
type TaskProgress struct {
	Key     string  `json:"key"`
	Name    string  `json:"task"`
	Stage   Stage   `json:"stage"`
	Outcome Outcome `json:"outcome,omitempty"`
}

// Progress tells how far a run is. It may be asked several times a second.
func (s *Service) Progress(ctx context.Context, ref run.Ref) (p Progress, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		p, err = tx.Runs().Progress(ctx, ref.Run)
		return err
	})
	return p, err
}
