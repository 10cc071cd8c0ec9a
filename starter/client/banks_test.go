package client_test

import (
	"errors"
	"testing"

	"cairn/starter/client"
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
	b.admin(`insert into cairn.cases (workspace_id, bank_id, key, source, question, gold, failures, op_id)
  select workspace_id, id, 'k' || i, 'feedback', 'Question ' || i || '?', '{yes}', 1, 'x'
  from cairn.banks, generate_series(1, 300) i`)
	if cases := all(t, b.client.BankCases(ctx, "default")); len(cases) != 300 || cases[299].Question != "Question 1?" {
		t.Errorf("%d cases", len(cases))
	}
	if rounds := all(t, b.client.BankRounds(ctx, "default")); len(rounds) != 0 {
		t.Errorf("%+v", rounds)
	}
	if trainings := all(t, b.client.BankTrainings(ctx, "default")); len(trainings) != 0 {
		t.Errorf("%+v", trainings)
	}
	if decisions := all(t, b.client.BankDecisions(ctx, "default")); len(decisions) != 0 {
		t.Errorf("%+v", decisions)
	}
	if scores, err := b.client.BankScores(ctx, "default"); err != nil || len(scores) != 0 {
		t.Errorf("%+v, %v", scores, err)
	}
	if _, err := b.client.PromoteUpdate(ctx, "default", 1); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown update: %v", err)
	}
	if err := first(t, b.client.BankCases(ctx, "none")); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("cases of an unknown bank: %v", err)
	}
	if _, err := b.client.Bank(ctx, "none"); err == nil {
		t.Error("a bank that there is not")
	}
}
