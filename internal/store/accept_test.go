package store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// wish is a request for a conversation of one message.
func (b *bundle) wish(key, text string, change ...func(*distillation.AcceptedRequest)) distillation.AcceptedRequest {
	a := distillation.AcceptedRequest{Workspace: b.a.ID, Key: key, ArgsSHA: sha256.Sum256([]byte(text)),
		Spec:    []byte("{}"),
		Channel: "import",
		Conversation: transcript.Conversation{ID: "c-" + key, Title: "t",
			Messages: []transcript.Message{{Role: transcript.User, Content: text}}},
		WorkflowID: func(generation, attempt int) string {
			return fmt.Sprintf("w/%s/%d/%d", key, generation, attempt)
		}}
	for _, f := range change {
		f(&a)
	}
	return a
}

func fresh(a *distillation.AcceptedRequest) { a.Fresh = true }

// accept makes a request that must be accepted.
func (b *bundle) accept(a distillation.AcceptedRequest) (run.Run, bool) {
	b.t.Helper()
	r, made, err := b.Accept(b.t.Context(), a)
	testkit.Must(b.t, err)
	return r, made
}

// stored counts runs, conversations, messages and outbox tasks.
func (b *bundle) stored() string {
	b.t.Helper()
	return b.texts("select format('%s %s %s %s', (select count(*) from runs), (select count(*) from conversations), " +
		"(select count(*) from messages), (select count(*) from outbox))")[0]
}

func TestTheSameRequestIsTheSameRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, made := b.accept(b.wish("k", "hello"))
	if !made || first.Generation != 1 || first.Status != run.Accepted || first.WorkflowID != "w/k/1/1" {
		t.Errorf("first: made %t, %+v", made, first)
	}
	again, made := b.accept(b.wish("k", "hello"))
	if made || again.Ref != first.Ref {
		t.Errorf("again: made %t, run %s, want %s", made, again.Ref.Run, first.Ref.Run)
	}
	if got := b.stored(); got != "1 1 1 1" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

func TestTheSameKeyForAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(b.wish("k", "hello"))
	for name, a := range map[string]distillation.AcceptedRequest{"another": b.wish("k", "goodbye"),
		"another, afresh": b.wish("k", "goodbye", fresh)} {
		if _, _, err := b.Accept(t.Context(), a); fault.CodeOf(err) != fault.OpReused {
			t.Errorf("%s: %v, want %s", name, err, fault.OpReused)
		}
	}
	if got := b.stored(); got != "1 1 1 1" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

// A deliberate repetition uses the stored data: it has neither messages nor channel.
func TestADeliberateRedoIsTheNextGeneration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, _ := b.accept(b.wish("k", "hello"))
	second, made := b.accept(b.wish("k", "hello", fresh, func(a *distillation.AcceptedRequest) { a.Channel = "" }))
	if !made || second.Generation != 2 || second.Ref == first.Ref || second.WorkflowID != "w/k/2/1" ||
		second.Conversation != first.Conversation {
		t.Errorf("made %t, %+v", made, second)
	}
	latest, made := b.accept(b.wish("k", "hello"))
	if made || latest.Ref != second.Ref {
		t.Errorf("the plain request now gives run %s, want the latest %s", latest.Ref.Run, second.Ref.Run)
	}
	if got := b.stored(); got != "2 1 1 2" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

func TestTwentyEqualRequestsAtOnceAreOneRun(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *store.Options) { o.MaxConns = 10 })
	made, ids := b.acceptAtOnce(20, func(int) string { return "hello" })
	if made != 1 || len(ids) != 1 {
		t.Errorf("%d made, runs %v, want one", made, ids)
	}
	if got := b.stored(); got != "1 1 1 1" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

// The loser of the race has sent another request, and must not be accepted.
func TestUnequalRequestsAtOnceAreOneRunAndRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *store.Options) { o.MaxConns = 10 })
	refused := 0
	for round := range 6 {
		key := fmt.Sprint(round)
		var wait sync.WaitGroup
		var lock sync.Mutex
		for i := range 6 {
			wait.Go(func() {
				a := b.wish(key, fmt.Sprint("text ", i), func(a *distillation.AcceptedRequest) {
					a.Conversation.ID = fmt.Sprint(key, "/", i)
				})
				r, _, err := b.Accept(t.Context(), a)
				lock.Lock()
				defer lock.Unlock()
				if err == nil && r.ArgsSHA != a.ArgsSHA {
					t.Errorf("round %d: request %d was answered with the run of another", round, i)
				}
				if err != nil {
					refused++
					if fault.CodeOf(err) != fault.OpReused {
						t.Errorf("round %d: %v, want %s", round, err, fault.OpReused)
					}
				}
			})
		}
		wait.Wait()
	}
	if refused != 6*5 {
		t.Errorf("%d refused, want %d", refused, 6*5)
	}
	if got := b.stored(); got != "6 6 6 6" { // the writes of the losers are rolled back, too
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

// acceptAtOnce sends n requests under one key and counts the results.
func (b *bundle) acceptAtOnce(n int, text func(int) string) (made int, ids map[string]bool) {
	var wait sync.WaitGroup
	var lock sync.Mutex
	ids = map[string]bool{}
	for i := range n {
		wait.Go(func() {
			r, first, err := b.Accept(b.t.Context(), b.wish("k", text(i)))
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				b.t.Error(err)
				return
			}
			if ids[r.Ref.Run] = true; first {
				made++
			}
		})
	}
	wait.Wait()
	return made, ids
}

// A conversation is append-only: other messages under its ID are rejected.
func TestAStoredConversationIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(b.wish("k", "hello"))
	same := func(a *distillation.AcceptedRequest) { a.Conversation.ID = "c-k" }
	longer := func(a *distillation.AcceptedRequest) {
		a.Conversation.Messages = append(a.Conversation.Messages,
			transcript.Message{Role: transcript.User, Content: "more"})
	}
	for name, a := range map[string]distillation.AcceptedRequest{"other words": b.wish("k2", "goodbye", same),
		"more messages": b.wish("k3", "hello", same, longer)} {
		if _, _, err := b.Accept(t.Context(), a); fault.CodeOf(err) != fault.VersionConflict {
			t.Errorf("%s: %v, want %s", name, err, fault.VersionConflict)
		}
	}
	if _, made := b.accept(b.wish("k4", "hello", same)); !made {
		t.Error("another request about the same conversation was not accepted")
	}
	if got := b.stored(); got != "2 1 1 2" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
}

func TestARunIsReopenedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r, _ := b.accept(b.wish("k", "hello"))
	reopen := func() error {
		return b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
			return q.Runs().Reopen(t.Context(), r, "w/retry")
		})
	}
	if err := reopen(); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("a run that has not ended: %v", err)
	}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		return q.Runs().EndRun(ctx, r.Ref.Run, run.Failed, "no", nil)
	})
	if n := b.number("select count(*) from outbox"); n != 0 {
		t.Errorf("%d duties after the end", n)
	}
	testkit.Must(t, reopen())
	if err := reopen(); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("reopened twice: %v", err)
	}
	if n := b.number("select count(*) from outbox"); n != 1 {
		t.Errorf("%d duties after the retry, want 1", n)
	}
}
