package relay_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/outbox"
	"cairn/internal/service/relay"
)

// A task of a kind without a lane would never be claimed.
func TestEachKindOfTaskIsInOneLane(t *testing.T) {
	t.Parallel()
	b := setup(t)
	constraint := scan[string](t, b.admin, "select pg_get_constraintdef(oid) from pg_constraint where conname = "+
		"'outbox_kind_check'")
	var exist []string
	for _, m := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(constraint, -1) {
		exist = append(exist, m[1])
	}
	lanes := outbox.Kinds()
	slices.Sort(exist)
	slices.Sort(lanes)
	if len(exist) < 9 || !slices.Equal(lanes, exist) {
		t.Errorf("the lanes have %q, the outbox %q", lanes, exist)
	}
	b.Traces, b.Driver = noTraces{}, noDriver{}
	for _, kind := range exist {
		exec(t, b.admin, "insert into outbox (workspace_id, kind, key) values ($1, $2, 'nonsense')", b.ws.ID, kind)
	}
	if n := b.pass(); n != len(exist) {
		t.Errorf("a pass took %d tasks of %d kinds", n, len(exist))
	}
	if n := scan[int](t, b.admin, "select count(*) from outbox where last_error like 'unknown outbox task%'"); n != 0 {
		t.Errorf("%d kinds are claimed and not handled", n)
	}
}

// A worker that has ended a task claims the next one, however long others take.
func TestASlowTaskDoesNotHoldTheOthersOfItsLane(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leave := make(chan bool)
	b.embedder.hold = func(text string) {
		if text == "slow" {
			<-leave
		}
	}
	b.document(0, "slow")
	const documents = 40
	for i := range int64(documents) {
		b.document(i+1, "text "+number(i))
	}
	stop := b.start()
	until(t, "the tasks behind a slow one", func() bool {
		return scan[int](t, b.admin, "select count(*) from embeddings") == documents
	})
	close(leave)
	until(t, "the slow task", func() bool {
		return scan[int](t, b.admin, "select count(*) from embeddings") == documents+1
	})
	stop()
}

// However many tasks another lane has, and if all of its workers wait for an endpoint, a lane goes on.
func TestATaskDoesNotWaitForOtherLanes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leave := make(chan bool)
	b.embedder.hold = func(string) { <-leave }
	for i := range int64(100) {
		b.document(i, "text "+number(i))
	}
	stop := b.start()
	defer stop()
	defer close(leave)
	until(t, "the embedder to hang", func() bool { return b.embedder.total() >= 8 })
	r := b.accept("k")
	exec(t, b.admin, "update runs set status = 'ended', outcome = 'completed' where id = $1", r.Ref.Run)
	exec(t, b.admin, "update outbox set due_at = now() where key = $1", r.Ref.Run)
	until(t, "a task of another lane", func() bool {
		return scan[int](t, b.admin, "select count(*) from outbox where key = $1", r.Ref.Run) == 0
	})
}

// A relay that ends claims nothing more and completes what it has begun.
func TestARelayThatEndsCompletesItsTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside, leave := make(chan bool), make(chan bool)
	b.embedder.hold = func(string) { close(inside); <-leave }
	b.document(1, "text")
	ended := make(chan bool)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { b.Run(ctx); close(ended) }()
	<-inside
	cancel()
	select {
	case <-ended:
		t.Error("the relay ended before its task")
	default:
	}
	close(leave)
	<-ended
	if n := scan[int](t, b.admin,
		"select (select count(*) from embeddings) * 10 + (select count(*) from outbox)"); n != 10 {
		t.Errorf("vectors and tasks: %d, want 1 and 0", n)
	}
}

// It does not wait for a task that hangs. That is no failure of the task, which its next claim repeats.
func TestARelayThatEndsCancelsATaskThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Stop = 0
	inside := make(chan bool)
	b.embedder.waits = func(ctx context.Context) { close(inside); <-ctx.Done() }
	b.document(1, "text")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { b.Run(ctx); close(ended) }()
	<-inside
	cancel()
	<-ended
	if why := scan[string](t, b.admin, "select last_error || failures from outbox"); why != "0" {
		t.Errorf("noted %q", why)
	}
	b.embedder.waits = nil
	b.due()
	if n := b.pass(); n != 1 || scan[int](t, b.admin, "select count(*) from embeddings") != 1 {
		t.Errorf("the next relay took %d tasks", n)
	}
}

// start starts the loops of the relay. Stop waits for their end.
func (b *bundle) start() (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan bool)
	go func() { b.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

// noTraces has no trace.
type noTraces struct{}

func (noTraces) Import(context.Context, int64, string) error { return errNone }

// noDriver starts nothing.
type noDriver struct{ relay.Driver }

func (noDriver) Tell(context.Context, string, int64, contract.SettingsInput) error { return errNone }

var errNone = errors.New("none")
