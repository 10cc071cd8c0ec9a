package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/train"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Workspaces creates the workspaces of an evaluation.
type Workspaces interface {
	MakeWorkspace(ctx context.Context, name string) (access.Workspace, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store      *store.Store
	Workspaces Workspaces
	Banks      *bank.Service
	Builds     *build.Service
	Cases      *bank.Cases
	Trainings  *train.Training
	Memories   *memory.LongTermService
	Asker      bank.Asker
	Starter    bank.Starter
	Prices     llm.Prices
	Embedder   string // name of the embedding model, for the manifest
	Log        *slog.Logger
}

// Service measures memory skills.
type Service struct{ ports Ports }

// New returns a service.
func New(p Ports) *Service {
	return &Service{p}
}

// limits are what a caller may change when an evaluation continues.
type limits struct {
	Parallel int   `json:"parallel"`
	MaxCost  int64 `json:"max_cost_micros,omitempty"`
}

func limitsStep(attempt int) string { return fmt.Sprintf("limits/%05d", attempt) }

// Open marks an evaluation as started. If an earlier attempt has ended it, over is set.
func (s *Service) Open(ctx context.Context, in contract.EvaluateInput) (out contract.OpenEvaluationResult, err error) {
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, spec, ended, err := bank.ReadSpec[Spec, Result](ctx, tx, in.Ref())
		if ended != nil {
			result := ended.encode()
			out.Ended = &result
		}
		if err != nil || ended != nil {
			return err
		}
		now, err := bank.NeedStep[limits](ctx, tx, in.Run, limitsStep(r.Attempt))
		if err != nil {
			return err
		}
		all, prepared := spec.units()
		out.Units, out.Prepared, out.Parallel = len(all), prepared, now.Parallel
		_, err = tx.Runs().StartRun(ctx, in.Run)
		return err
	})
	return out, err
}

// evaluation is what the steps of an evaluation read first.
type evaluation struct {
	run    run.Run
	key    string // of the workspace
	spec   Spec
	limits limits
	units  []unit
}

// read reads an evaluation.
func (s *Service) read(ctx context.Context, ref run.Ref) (e evaluation, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		e, err = readEvaluation(ctx, tx, ref)
		return err
	})
	return e, err
}

func readEvaluation(ctx context.Context, tx store.Tx, ref run.Ref) (e evaluation, err error) {
	if e.run, err = tx.Runs().Run(ctx, ref.Run); err != nil {
		return e, err
	}
	if e.spec, err = bank.DecodeReply[Spec](e.run); err != nil {
		return e, err
	}
	e.units, _ = e.spec.units()
	if e.key, err = tx.Workspaces().WorkspaceKey(ctx); err != nil {
		return e, err
	}
	e.limits, err = bank.NeedStep[limits](ctx, tx, ref.Run, limitsStep(e.run.Attempt))
	return e, err
}

// steps reads the results of the steps with a name prefix.
func steps[T any](ctx context.Context, tx store.Tx, run, prefix string) (map[string]T, error) {
	raw, err := tx.Training().StepResults(ctx, run, prefix)
	if err != nil {
		return nil, err
	}
	out := map[string]T{}
	for step, one := range raw {
		var v T
		if err := json.Unmarshal(one, &v); err != nil {
			return nil, fmt.Errorf("decode step %s of run %s: %w", step, run, err)
		}
		out[step] = v
	}
	return out, nil
}
