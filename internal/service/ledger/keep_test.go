package ledger_test

import (
	"context"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// failing makes the first transactions fail that begin after the model was sent a request. It returns how many have
// failed.
func (b *bundle) failing(most int) (failed func() int) {
	n := 0
	b.Store = b.store.Intercept(func(_ context.Context, run func() error) error {
		if len(b.model.requests()) > 0 && n < most {
			n++
			return fault.New(fault.Unavailable, "the database does not answer", "")
		}
		return run()
	})
	return func() int { return n }
}

func TestAPaidReplyOutlivesARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed := b.failing(3)
	for range 2 { // the second time, it is stored
		if r, err := b.ask(t.Context(), "s", "hi"); err != nil || r.Text != "reply 1" {
			t.Errorf("reply %q, %v", r.Text, err)
		}
	}
	if c := b.row("s"); c.State != run.CallDone || c.Attempts != 1 || len(b.model.requests()) != 1 || failed() != 3 {
		t.Errorf("ledger %+v after %d requests and %d failures", c, len(b.model.requests()), failed())
	}
}

func TestAReplyIsGivenUpWhenTheDatabaseStaysAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.StoreRetryFor = time.Millisecond
	failed := b.failing(10)
	if _, err := b.ask(t.Context(), "s", "hi"); fault.CodeOf(err) != fault.Unavailable || failed() > 2 {
		t.Errorf("%d tries, %v", failed(), err)
	}
	if c := b.row("s"); c.State != run.CallStarted || len(b.model.requests()) != 1 {
		t.Errorf("ledger %+v after %d requests", c, len(b.model.requests()))
	}
}
