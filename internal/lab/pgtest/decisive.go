package pgtest

import (
	"context"
	"fmt"
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// Decisive gives the active version of the default bank of a workspace a policy with preferences, so
// that a small update changes few of its choices. exec executes SQL as the owner of the database.
func Decisive(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any)) {
	t.Helper()
	replacePolicy(t, s, ws, exec, func(h bank.Head) (policy.Chooser, policy.Optimizer) {
		if policy.ControllerOf(h.Policy) == policy.ControllerThompson {
			return taught(t, h)
		}
		return scaled(t, 60), h.Optimizer
	})
}

// Indifferent gives the active version of the default bank a policy with nearly equal probabilities,
// so that a small update changes most of its choices.
func Indifferent(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any)) {
	t.Helper()
	replacePolicy(t, s, ws, exec, func(h bank.Head) (policy.Chooser, policy.Optimizer) {
		return scaled(t, 0.3), h.Optimizer
	})
}

// EachController runs a test with each controller of memory skills.
func EachController(t *testing.T, test func(t *testing.T, controller string)) {
	t.Helper()
	for _, controller := range policy.ControllerNames {
		t.Run(controller, func(t *testing.T) {
			t.Parallel()
			test(t, controller)
		})
	}
}

// OtherWeights returns a policy of the same kind as the policy of a version, with other weights.
func OtherWeights(t testing.TB, h bank.Head) (policy.Chooser, policy.Optimizer) {
	t.Helper()
	if policy.ControllerOf(h.Policy) == policy.ControllerThompson {
		return taught(t, h)
	}
	return scaled(t, 1), policy.Adam{}
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

// taught returns a bandit that has seen the first skill of a bank do much better than the others.
func taught(t testing.TB, h bank.Head) (policy.Chooser, policy.Optimizer) {
	t.Helper()
	batch := policy.Batch{Vectors: map[string][]float64{}}
	all := h.Bank.Versions()
	var candidates []policy.Candidate
	for i, v := range all {
		batch.Vectors[v.ID] = make([]float64, memoryskill.PolicyDims)
		batch.Vectors[v.ID][i] = 1
		candidates = append(candidates, policy.Candidate{ID: v.ID, Vector: batch.Vectors[v.ID]})
	}
	state := h.Policy.State(make([]float64, memoryskill.PolicyDims), nil)
	for n := range 5 * len(all) {
		d, err := h.Policy.Choose(state, candidates, policy.Choice{K: 1, Key: keyedrand.Key{Run: "taught", Span: n}})
		testkit.Must(t, err)
		d.ID, d.Chosen = fmt.Sprint("taught/", n), []string{all[n%len(all)].ID}
		step := policy.Step{Decision: d, Credited: true}
		if n%len(all) == 0 {
			step.Reward = 1
		}
		batch.Steps = append(batch.Steps, step)
	}
	c, o, _, err := policy.Controllers{}.Update(h.Policy, h.Optimizer, batch)
	testkit.Must(t, err)
	return c, o
}

func replacePolicy(t testing.TB, s *learning.Service, ws int64, exec func(sql string, args ...any),
	by func(bank.Head) (policy.Chooser, policy.Optimizer)) {
	t.Helper()
	head, err := s.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	p, o := by(head)
	testkit.Must(t, s.Ports.Store.Banks().InWorkspace(t.Context(), ws, func(ctx context.Context, tx bank.Tx) error {
		return s.Banks.StoreWeights(ctx, tx, p, o)
	}))
	bound := memoryskill.Bind(head.Bank, p, o)
	exec("update cairn.bank_versions set policy_sha = $1, optimizer_sha = $2, snapshot_sha = $3 "+
		"where workspace_id = $4 and number = $5", bound.Policy, bound.Optimizer, bound.Hash, ws, head.Head)
}
