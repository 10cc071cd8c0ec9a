package client_test

import (
	"testing"
)

func TestABankIsFrozenByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for range 2 {
		frozen, err := b.client.FreezeBank(ctx, "default")
		if err != nil || frozen.FrozenAt == nil || frozen.Version.Number != 1 {
			t.Fatalf("%+v, %v", frozen, err)
		}
		open, err := b.client.UnfreezeBank(ctx, "default")
		if err != nil || open.FrozenAt != nil {
			t.Fatalf("%+v, %v", open, err)
		}
	}
	if is, err := b.client.Bank(ctx, "default"); err != nil || is.Name != "default" || is.FrozenAt != nil {
		t.Errorf("%+v, %v", is, err)
	}
	rounds, next, err := b.client.BankRounds(ctx, "default", "")
	if err != nil || len(rounds) != 0 || next != "" {
		t.Errorf("%+v, %q, %v", rounds, next, err)
	}
	trainings, next, err := b.client.BankTrainings(ctx, "default", "")
	if err != nil || len(trainings) != 0 || next != "" {
		t.Errorf("%+v, %q, %v", trainings, next, err)
	}
	cases, next, err := b.client.BankCases(ctx, "default", "")
	if err != nil || len(cases) != 0 || next != "" {
		t.Errorf("%+v, %q, %v", cases, next, err)
	}
	if _, _, err := b.client.BankCases(ctx, "default", "x"); err == nil {
		t.Error("an invalid cursor is accepted")
	}
	if _, err := b.client.Bank(ctx, "none"); err == nil {
		t.Error("a bank that there is not")
	}
}
