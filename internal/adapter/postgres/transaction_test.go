package postgres_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// A write whose row count is wrong fails its transaction: what stood before it is
// not kept.
func TestAWriteOfNoRowFailsItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var c conversation.Conversation
	testkit.Must(t, b.Conversations().WithConversations(t.Context(), b.a.ID, func(_ context.Context, tx conversation.Tx) (err error) {
		c, _, _, err = tx.Conversations().OpenConversation(t.Context(), "c", "chat", "", "m1")
		return err
	}))
	spec := []byte("{}")
	r := conversation.NewRun{Kind: run.Turn, Key: "k", Conversation: c.ID, Spec: spec, WorkflowID: "w"}
	for name, fails := range map[string]func(conversation.Tx) error{
		"0 rows changed, not 1": func(tx conversation.Tx) error {
			return tx.Conversations().Said(t.Context(), conversation.Conversation{ID: c.ID + 1})
		},
		"there is no run": func(tx conversation.Tx) error {
			_, err := tx.Runs().HoldRun(t.Context(), 1<<40)
			return err
		},
	} {
		err := b.Conversations().WithConversations(t.Context(), b.a.ID, func(_ context.Context, tx conversation.Tx) error {
			if _, err := tx.Runs().PutRun(t.Context(), r); err != nil {
				return err
			}
			if err := tx.Conversations().Said(t.Context(), conversation.Conversation{ID: c.ID, NextSeq: 7, NextTurn: 3}); err != nil {
				return err
			}
			return fails(tx)
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if got := b.texts("select (select count(*) from runs) || ' ' || next_seq || ' ' || next_turn from conversations")[0]; got != "0 0 1" {
		t.Errorf("runs, messages and turns: %s", got)
	}

	// A run that ended between two transactions is told to have.
	var made run.Run
	testkit.Must(t, b.Conversations().WithConversations(t.Context(), b.a.ID, func(_ context.Context, tx conversation.Tx) (err error) {
		if made, err = tx.Runs().PutRun(t.Context(), r); err != nil {
			return err
		}
		return tx.Runs().EndRun(t.Context(), made.Ref.Run, run.Completed, "", struct{}{})
	}))
	testkit.Must(t, b.Conversations().WithConversations(t.Context(), b.a.ID, func(_ context.Context, tx conversation.Tx) error {
		open, err := tx.Runs().HoldRun(t.Context(), made.Ref.Run)
		if open {
			t.Error("a run that has ended is held")
		}
		return err
	}))
}
