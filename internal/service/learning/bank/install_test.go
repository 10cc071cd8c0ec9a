package bank_test

import (
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// A bank of one workspace is installed in another one with its policy, once.
func TestABankIsInstalledOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	_, err := l.Banks.Import(ctx, l.DB.A.ID, bank.Default, file("capture_trees", "Adds trees."))
	testkit.Must(t, err)
	source, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	d := bank.Draft{Bank: source.Bank, Policy: source.Policy, Optimizer: source.Optimizer, Action: bank.ActionImport}
	for range 2 {
		got, err := l.Banks.Install(ctx, l.DB.B.ID, "copied", d)
		if err != nil || got.Head != 1 || got.Snapshot() != source.Snapshot() {
			t.Fatalf("%+v, %v", got.Version, err)
		}
		seed, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
		testkit.Must(t, err)
		d.Bank = seed // the bank exists, so this is not installed
	}
	d.Policy, d.Optimizer = nil, nil
	fresh, err := l.Banks.Install(ctx, l.DB.B.ID, "fresh", d)
	if err != nil || fresh.Optimizer.Steps() != 0 || fresh.Policy.Weights() == 0 {
		t.Errorf("%+v, %v", fresh.Version, err)
	}
}
