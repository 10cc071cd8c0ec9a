package train

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// TrainingPorts are the dependencies of the service.
type TrainingPorts struct {
	bank.Extensions
	Store      *store.Store
	Banks      *bank.Service
	Encoder    bank.Encoder
	Asker      bank.Asker
	Controller policy.Controller
	Starter    bank.Starter
	Log        *slog.Logger
}

// Training trains the policy of a bank on conversations with known answers, and optionally
// edits the bank. A training has stages of iterations of episodes. The best version is promoted if
// it is better than the active one on held-out conversations.
//
//	r, err := trainings.Accept(ctx, train.Request{…})
type Training struct {
	ports    TrainingPorts
	miner    Designer
	designer designer.Designer
	player   bank.EpisodePlayer
}

// NewTraining returns a service.
func NewTraining(p TrainingPorts) *Training {
	s := &Training{ports: p, miner: Designer{Encoder: p.Encoder, Asker: p.Asker}, designer: p.Designer,
		player: bank.EpisodePlayer{Encoder: p.Encoder, Asker: p.Asker, Executor: p.Executor, Judge: p.Judge}}
	if s.designer == nil {
		s.designer = s.miner
	}
	return s
}

// Open marks a run as started and takes the lease of its bank. If an earlier attempt has ended the
// run, over is set.
func (s *Training) Open(ctx context.Context, ref run.Ref) (spec Spec, over *learning.TrainingResult, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		var r run.Run
		if r, spec, err = readSpec(ctx, tx, ref); err != nil {
			return err
		}
		if r.Status == run.Ended {
			over = new(learning.TrainingResult)
			return json.Unmarshal(r.Result, over)
		}
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		for _, id := range slices.Concat(spec.Traces, spec.Held) {
			if err := tx.Training().ShownTo(ctx, ref.Run, id); err != nil {
				return err
			}
		}
		_, err := tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return spec, over, err
}
