package conversation_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/transcript"
	"cairn/internal/testkit"
)

func TestAnswerTellsWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	accepted := b.accept(b.message("c", "m1", "hello"))
	got := b.answer("c", "m1")
	if want := (conversation.TurnStatus{Conversation: "c", MessageID: "m1", Turn: 1, Run: accepted.Run.Ref.Run,
		Status: conversation.StatusAccepted, ReplySeq: -1}); got != want {
		t.Errorf("before its end: %+v, want %+v", got, want)
	}
	testkit.Must(t, b.end(t.Context(), accepted.Run.Ref))
	got = b.answer("c", "m1")
	if got.Status != conversation.StatusEnded || got.Reason != "interrupted" || got.ReplySeq != 1 ||
		!strings.Contains(got.Reply, "stopped") {
		t.Errorf("after its end: %+v", got)
	}
	if again := b.answer("c", "m1"); again != got {
		t.Errorf("asked again: %+v, want %+v", again, got)
	}
}

func TestAnswerOfAnUnknownMessageSaysWhatToDo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(b.message("c", "m1", "hello"))
	for name, c := range map[string]struct {
		workspace             int64
		conversation, message string
	}{
		"no such conversation": {b.A.ID, "d", "m1"},
		"no such message":      {b.A.ID, "c", "m2"},
		"another workspace":    {b.B.ID, "c", "m1"},
	} {
		_, err := b.Answer(t.Context(), c.workspace, c.conversation, c.message)
		if fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Closing a conversation keeps the counters of a review that ended in the meantime. The next
// message reopens it.
func TestCloseConversationKeepsWhatEitherSideKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.accept(b.observed("c", "m1", transcript.Message{Role: transcript.User, Content: "hello"})).Conversation
	b.Exec(`update conversations set counters = '{"total": 2, "last_reviewed": 2}'`)
	closes := func() string {
		testkit.Must(t, b.CloseConversation(t.Context(), contract.CloseConversationInput{Workspace: b.A.ID,
			Conversation: id, Ended: true, Counters: nudge.Counters{Total: 3, Memory: 1}}))
		var got string
		testkit.Must(t, b.Admin.QueryRow(t.Context(), `
			select format('%s %s %s %s', counters->>'total', counters->>'memory', counters->>'last_reviewed',
				closed_at is not null)
			from conversations`).Scan(&got))
		return got
	}
	for range 2 {
		if got := closes(); got != "3 1 2 t" {
			t.Errorf("total, memory, last reviewed and closed are %s", got)
		}
	}
	for name, ws := range map[string]int64{"no such conversation": b.A.ID, "another workspace": b.B.ID} {
		missing := id
		if ws == b.A.ID {
			missing++
		}
		err := b.CloseConversation(t.Context(), contract.CloseConversationInput{Workspace: ws, Conversation: missing,
			Ended: true})
		if fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
