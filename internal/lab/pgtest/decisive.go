package pgtest

import (
	"context"
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Decisive gives the active version of the default bank of a workspace a policy with preferences, so
// that a small update changes few of its choices. exec executes SQL as the owner of the database.
func Decisive(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any)) {
	t.Helper()
	replacePolicy(t, s, ws, exec, scaled(t, 60))
}

// Indifferent gives the active version of the default bank a policy with nearly equal probabilities,
// so that a small update changes most of its choices.
func Indifferent(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any)) {
	t.Helper()
	replacePolicy(t, s, ws, exec, scaled(t, 0.3))
}

// OtherWeights returns a policy that no version of a bank has.
func OtherWeights(t testing.TB) policy.Policy {
	t.Helper()
	return scaled(t, 1)
}

// scaled returns an untrained policy with this multiple of the usual weights.
func scaled(t testing.TB, factor float64) policy.Policy {
	t.Helper()
	shape := policy.TowerShape(memoryskill.PolicyDims, memoryskill.PolicyHidden)
	shape.Scale *= factor
	p, err := policy.NewPolicy(shape, keyedrand.Key{Run: "decisive"})
	testkit.Must(t, err)
	return p
}

func replacePolicy(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any), p policy.Policy) {
	t.Helper()
	head, err := s.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	testkit.Must(t, s.Ports.Store.InWorkspace(t.Context(), ws, func(ctx context.Context, tx store.Tx) error {
		return s.Banks.StoreWeights(ctx, tx, p, head.Optimizer)
	}))
	bound := memoryskill.Bind(head.Bank, p, head.Optimizer)
	exec("update cairn.bank_versions set policy_sha = $1, optimizer_sha = $2, snapshot_sha = $3 "+
		"where workspace_id = $4 and number = $5", bound.Policy, bound.Optimizer, bound.Hash, ws, head.Head)
}
