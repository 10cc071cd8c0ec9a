package pgtest

import (
	"context"
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// Decisive gives the active version of the default bank of a workspace a policy with preferences, so
// that a small update changes few of its choices. The policy of a new bank has nearly equal
// probabilities. exec executes SQL as the owner of the database.
func Decisive(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any)) {
	t.Helper()
	shape := policy.TowerShape(memoryskill.PolicyDims, memoryskill.PolicyHidden)
	shape.Scale *= 60
	p, err := policy.NewPolicy(shape, keyedrand.Key{Run: "decisive"})
	testkit.Must(t, err)
	head, err := s.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	testkit.Must(t, s.Ports.Store.Banks().InWorkspace(t.Context(), ws, func(ctx context.Context, tx bank.Tx) error {
		return s.Banks.StoreWeights(ctx, tx, p, head.Optimizer)
	}))
	bound := memoryskill.Bind(head.Bank, p, head.Optimizer)
	exec("update cairn.bank_versions set policy_sha = $1, snapshot_sha = $2 where workspace_id = $3 and number = $4",
		bound.Policy, bound.Hash, ws, head.Head)
}
