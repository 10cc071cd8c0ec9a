package relay_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/index"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func number(id int64) string { return strconv.FormatInt(id, 10) }

func TestAnEndedRunSettlesItsDuty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.accept("k")
	b.in(func(ctx context.Context, q store.Tx) error {
		testkit.Must(t, q.Runs().EndRun(ctx, r.Ref.Run, run.Completed, "", nil))
		// left over, as by a claim that was under way
		return q.Outbox().Enqueue(ctx, outbox.DriveRun, r.Ref.Run, 0)
	})
	if n := b.pass(); n != 1 { // without a Temporal client a start would panic
		t.Errorf("took %d duties, want 1", n)
	}
	if n := scan[int](t, b.admin, "select count(*) from outbox"); n != 0 {
		t.Errorf("%d duties left", n)
	}
}

func TestADutyOfARelayThatDiedComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.document(1, "text")
	claim := func() []outbox.Task {
		duties, err := b.Store.ClaimOutbox(t.Context(), outbox.Kinds(), 9)
		testkit.Must(t, err)
		return duties
	}
	for attempt := 1; attempt <= 8; attempt++ {
		taken := claim()
		if len(taken) != 1 || taken[0].Attempts != attempt {
			t.Fatalf("claim %d took %+v", attempt, taken)
		}
		if s := taken[0].Claim.Seconds(); s < 4.9 || s > 60.1 {
			t.Errorf("claim %d lasts %.1f s, want 5 to 60", attempt, s)
		}
		if again := claim(); len(again) != 0 {
			t.Errorf("claim %d was taken twice", attempt)
		}
		// simulates a lost worker
		exec(t, b.admin, "update outbox set due_at = due_at - $1::interval", taken[0].Claim)
	}
	if b.pass() != 1 || b.embedder.count("text") != 1 {
		t.Error("the next relay did not do it")
	}
}

func TestTwoRelaysNeverDoTheSameDutyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const documents = 40
	for i := range int64(documents) {
		b.document(i, "text "+number(i))
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				n, err := b.Pass(t.Context())
				if err != nil {
					t.Error(err)
				}
				if n == 0 || err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	for i := range int64(documents) {
		if n := b.embedder.count("text " + number(i)); n != 1 {
			t.Errorf("document %d was embedded %d times", i, n)
		}
	}
	if n := scan[int](t, b.admin, "select count(*) from embeddings"); n != documents {
		t.Errorf("%d vectors, want %d", n, documents)
	}
}

// While one relay works on a task, another finds nothing. When the claim expires, the first one stops.
func TestADutyUnderWayIsLeftAloneAndEndsWithItsClaim(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	b.document(1, "text")
	inside, leave := make(chan bool), make(chan bool)
	b.embedder.hold = func(string) { close(inside); <-leave }
	first := make(chan int, 1)
	go func() { n, _ := b.Pass(t.Context()); first <- n }()
	<-inside
	if n := b.pass(); n != 0 {
		t.Errorf("another relay took %d duties", n)
	}
	until(t, "the claim to end", func() bool { return scan[bool](t, b.admin, "select due_at <= now() from outbox") })
	b.embedder.mu.Lock()
	b.embedder.hold = nil
	b.embedder.mu.Unlock()
	if n := b.pass(); n != 1 {
		t.Errorf("after the claim another relay took %d duties, want 1", n)
	}
	close(leave)
	<-first
	if n := scan[int](t, b.admin,
		"select (select count(*) from embeddings) * 10 + (select count(*) from outbox)"); n != 10 {
		t.Errorf("vectors and duties: %d, want 1 and 0", n)
	}
}

// Case E16.
func TestADocumentGetsItsVectorWhenTheEmbedderIsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.embedder.set(true)
	b.document(1, "text")
	for range 3 {
		if n := b.pass(); n != 1 {
			t.Fatalf("took %d duties, want 1", n)
		}
		b.due()
	}
	if why := scan[string](t, b.admin, "select last_error from outbox where attempts = 3"); !strings.Contains(why,
		"the embedder is down") {
		t.Errorf("noted %q", why)
	}
	waits, err := b.Store.Backlog(t.Context())
	if pending := waits.Duties[outbox.EmbedDoc]; err != nil || pending.Count != 1 || pending.Oldest <= 0 {
		t.Errorf("embeddings that are owed: %+v, %v", pending, err)
	}
	b.embedder.set(false)
	b.pass()
	want, err := b.embedder.Embedder.Embed(t.Context(), []string{"text"})
	testkit.Must(t, err)
	b.in(func(ctx context.Context, q store.Tx) error {
		hits, err := q.Documents().Search(ctx,
			index.Query{Kind: index.KindSkill, States: []string{"active"}, Vector: want[0], Space: b.space, Limit: 5})
		if len(hits) != 1 || hits[0].Cosine < 0.99 {
			t.Errorf("found %+v", hits)
		}
		return err
	})
	if n := scan[int](t, b.admin, "select count(*) from outbox"); n != 0 {
		t.Errorf("%d duties left", n)
	}
}

// A text that changes while it is embedded keeps the vector of the new text.
func TestAVectorBelongsToTheTextInForce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := b.document(1, "old words")
	fresh, err := b.embedder.Embedder.Embed(t.Context(), []string{"entirely new words"})
	testkit.Must(t, err)
	inside, leave := make(chan bool), make(chan bool)
	b.embedder.hold = func(string) { close(inside); <-leave }
	passed := make(chan error, 1)
	go func() { _, err := b.Pass(t.Context()); passed <- err }()
	<-inside
	// The change is written, not committed, when the old vector arrives.
	b.in(func(ctx context.Context, q store.Tx) error {
		_, err := q.Documents().Index(ctx, index.NewDoc(index.KindSkill, 1, "active", "entirely new words"))
		testkit.Must(t, err)
		testkit.Must(t, q.Documents().PutEmbedding(ctx, doc, b.space, fresh[0]))
		close(leave)
		until(t, "the relay to meet the change", func() bool {
			return scan[int](t, b.admin, "select count(*) from pg_stat_activity where datname = current_database() "+
				"and wait_event_type = 'Lock'") == 1
		})
		return nil
	})
	testkit.Must(t, <-passed)
	b.in(func(ctx context.Context, q store.Tx) error {
		hits, err := q.Documents().Search(ctx,
			index.Query{Kind: index.KindSkill, States: []string{"active"}, Vector: fresh[0], Space: b.space,
				Limit: 5})
		if len(hits) != 1 || hits[0].Cosine < 0.99 {
			t.Errorf("the new text has another vector: %+v", hits)
		}
		return err
	})
}

func TestOneDutyThatFailsDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(func(ctx context.Context, q store.Tx) error {
		testkit.Must(t, q.Outbox().Enqueue(ctx, outbox.EmbedDoc, "nonsense", 0))
		testkit.Must(t, q.Outbox().Enqueue(ctx, outbox.DriveRun, "999", 0)) // of no run
		return q.Outbox().Enqueue(ctx, outbox.DriveRun, "nonsense", 0)
	})
	b.document(1, "text")
	if n := b.pass(); n != 4 {
		t.Errorf("took %d duties, want 4", n)
	}
	if n := scan[int](t, b.admin, "select count(*) from outbox where last_error <> ''"); n != 3 {
		t.Errorf("%d duties noted, want 3", n)
	}
	if n := scan[int](t, b.admin, "select count(*) from embeddings"); n != 1 {
		t.Errorf("%d vectors, want 1", n)
	}
}

// Nothing is owed for a document that was deleted, before or during the call of the model.
func TestTheTaskOfADeletedDocumentEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Enqueue(ctx, outbox.EmbedDoc, "999", 0)
	})
	doc := b.document(1, "text")
	b.embedder.hold = func(string) { exec(t, b.admin, "delete from search_docs where doc = $1", doc) }
	if n := b.pass(); n != 2 {
		t.Errorf("took %d tasks, want 2", n)
	}
	if n := scan[int](t, b.admin, "select count(*) from outbox"); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}
