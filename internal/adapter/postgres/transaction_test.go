package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// A statement whose row count is wrong fails its transaction, although the commit
// goes out with it: what stood before it is not kept.
func TestACommitThatTravelsIsHeldBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var c conversation.Conversation
	testkit.Must(t, b.Conversations().WithConversations(t.Context(), b.a.ID, func(tx conversation.Tx) (err error) {
		c, _, _, err = tx.OpenConversation(t.Context(), "c", "chat", "", "m1")
		return err
	}))
	spec := []byte("{}")
	r := conversation.NewRun{Kind: run.Turn, Key: "k", Conversation: c.ID, Spec: spec, WorkflowID: "w"}
	ended := errors.New("it has ended")
	for name, fails := range map[string]func(conversation.Tx) error{
		"0 rows changed, not 1": func(tx conversation.Tx) error {
			return tx.Said(t.Context(), conversation.Conversation{ID: c.ID + 1})
		},
		"there is no run": func(tx conversation.Tx) error {
			tx.HoldRun(t.Context(), 1<<40, ended)
			return nil
		},
	} {
		err := b.Conversations().WithConversations(t.Context(), b.a.ID, func(tx conversation.Tx) error {
			if _, err := tx.PutRun(t.Context(), r); err != nil {
				return err
			}
			if err := tx.Said(t.Context(), conversation.Conversation{ID: c.ID, NextSeq: 7, NextTurn: 3}); err != nil {
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

	// A run that ended between two transactions takes nothing more.
	var made run.Run
	testkit.Must(t, b.Conversations().WithConversations(t.Context(), b.a.ID, func(tx conversation.Tx) (err error) {
		if made, err = tx.PutRun(t.Context(), r); err != nil {
			return err
		}
		return tx.EndRun(t.Context(), made.Ref.Run, run.Completed, "", struct{}{})
	}))
	err := b.Conversations().WithConversations(t.Context(), b.a.ID, func(tx conversation.Tx) error {
		tx.HoldRun(t.Context(), made.Ref.Run, ended)
		return tx.PutStep(t.Context(), made.Ref.Run, conversation.Step{N: 1, Content: "late"})
	})
	if !errors.Is(err, ended) {
		t.Errorf("%v, want %v", err, ended)
	}
	if n := b.texts("select count(*)::text from agent_steps")[0]; n != "0" {
		t.Errorf("%s steps of a run that has ended", n)
	}
	if fault.CodeOf(err) == fault.Unavailable {
		t.Errorf("%v would be tried again", err)
	}
}
