package store_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A write with a wrong row count fails its transaction: its earlier writes are rolled back.
func TestAWriteOfNoRowFailsItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var c conversation.Conversation
	testkit.Must(t, b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, tx store.Tx) (err error) {
		c, _, _, err = tx.Conversations().OpenConversation(t.Context(), "c", "chat", "", "m1")
		return err
	}))
	spec := []byte("{}")
	r := run.NewRun{Kind: run.Turn, Key: "k", Conversation: c.ID, Spec: spec, WorkflowID: "w"}
	for name, fails := range map[string]func(store.Tx) error{
		"0 rows changed, want 1": func(tx store.Tx) error {
			return tx.Conversations().SaveSequence(t.Context(), conversation.Conversation{ID: c.ID + 1})
		},
		"run run_00000000000000000000000000 not found": func(tx store.Tx) error {
			_, err := tx.Runs().RequireOpenRun(t.Context(), "run_00000000000000000000000000")
			return err
		},
	} {
		err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, tx store.Tx) error {
			if _, err := tx.Runs().PutRun(t.Context(), r); err != nil {
				return err
			}
			if err := tx.Conversations().SaveSequence(t.Context(),
				conversation.Conversation{ID: c.ID, NextSeq: 7, NextTurn: 3}); err != nil {
				return err
			}
			return fails(tx)
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	got := b.texts("select (select count(*) from runs) || ' ' || next_seq || ' ' || next_turn from conversations")[0]
	if got != "0 0 1" {
		t.Errorf("runs, messages and turns: %s", got)
	}

	// A run that ended between two transactions is reported as ended.
	var made run.Run
	testkit.Must(t, b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, tx store.Tx) (err error) {
		if made, err = tx.Runs().PutRun(t.Context(), r); err != nil {
			return err
		}
		return tx.Runs().EndRun(t.Context(), made.Ref.Run, run.Completed, "", struct{}{})
	}))
	testkit.Must(t, b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, tx store.Tx) error {
		open, err := tx.Runs().RequireOpenRun(t.Context(), made.Ref.Run)
		if open {
			t.Error("a run that has ended is held")
		}
		return err
	}))
}
