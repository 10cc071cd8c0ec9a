package bank

import (
	"context"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/policy"
)

// followController makes a policy of the controller that the workspace has chosen the active one: the
// latest policy of this kind among the earlier versions, or else an untrained one. A frozen
// bank or workspace does not change, and a bank that a learning run holds changes after the run.
func (s *Service) followController(ctx context.Context, tx Tx, h Head) (Head, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	wanted, has := chosen.Memory.Skills.Controller, policy.ControllerOf(h.Policy)
	if err != nil || has == "" || wanted == has || chosen.Memory.Learning.Frozen || h.Frozen() {
		return h, err
	}
	lease, err := s.TakeLease(ctx, tx, h.Name, "cairn settings", time.Minute)
	if fault.CodeOf(err) == fault.Unavailable {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	now, err := tx.Banks().BankOf(ctx, h.ID) // another transaction may have been first
	if err != nil {
		return h, err
	}
	if now.Head != h.Head {
		if h, err = s.ReadVersion(ctx, tx, now, now.Head); err != nil {
			return h, err
		}
	}
	if policy.ControllerOf(h.Policy) != wanted {
		if h, err = s.changeController(ctx, tx, h, wanted); err != nil {
			return h, err
		}
	}
	return h, s.ReturnLease(ctx, tx, h.Name, lease)
}

func (s *Service) changeController(ctx context.Context, tx Tx, h Head, wanted string) (Head, error) {
	d := Draft{Base: h.Head, Action: ActionController, Bank: h.Bank, Reason: "memory.skills.controller is " + wanted}
	var err error
	if d.Policy, d.Optimizer, err = s.latestOf(ctx, tx, h, wanted); err != nil {
		return h, err
	}
	if d.Policy == nil {
		if d.Policy, d.Optimizer, err = s.untrained(h.Name, wanted); err != nil {
			return h, err
		}
	}
	return s.Advance(ctx, tx, h.Row, d)
}

// latestOf returns the latest policy of a controller among the last versions, nil if there is none.
func (s *Service) latestOf(
	ctx context.Context,
	tx Tx,
	h Head,
	wanted string,
) (policy.Chooser, policy.Optimizer, error) {
	const lastVersions = 100
	versions, err := tx.Banks().BankVersions(ctx, h.ID, 0, lastVersions)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, v := range versions {
		if seen[v.Policy] {
			continue
		}
		seen[v.Policy] = true
		p, o, err := s.ReadWeights(ctx, tx, v.Policy, v.Optimizer)
		if err != nil || policy.ControllerOf(p) == wanted {
			return p, o, err
		}
	}
	return nil, nil, nil
}
