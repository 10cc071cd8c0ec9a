package dump_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/service/dump"
	"cairn/internal/testkit"
)

func (d *dumps) events(ws access.Workspace, action string) int {
	return d.Number("select count(*) from audit_events where workspace_id = $1 and action = $2", ws.ID, action)
}

// interrupted repeats a call that dies after one transaction more each time, until it succeeds. Data of
// workspace B is never without its event.
func (d *dumps) interrupted(action string, call func() error) {
	d.t.Helper()
	store := d.Service.Store
	defer func() { d.Service.Store = store }()
	for left := 1; ; left++ {
		d.Service.Store = dying(store, left)
		err := call()
		if n, has := d.events(d.B, action), d.remembers(d.B); n > 1 || n == 0 && has != nothing {
			d.t.Errorf("after %d transactions: %d events and %s", left, n, has)
		}
		if err == nil {
			if left < 4 {
				d.t.Errorf("done after %d transactions", left)
			}
			return
		}
		if !errors.Is(err, errDied) {
			d.t.Fatal(err)
		}
	}
}

func TestAnInterruptedLoadIsRecordedOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	file, a := d.dumped(d.A, dump.Options{}), d.inB()
	d.interrupted("memories.load", func() error {
		_, err := d.Load(t.Context(), a, strings.NewReader(file))
		return err
	})
	if n := d.events(d.B, "memories.load"); n != 1 {
		t.Errorf("%d events", n)
	}
	if d.load(d.inB(), file); d.events(d.B, "memories.load") != 2 {
		t.Error("another load is not recorded")
	}
	if n := d.events(d.A, "memories.dump"); n != 1 {
		t.Errorf("%d dumps are recorded", n)
	}
}

func TestAnInterruptedCopyIsRecordedOnceOnBothSides(t *testing.T) {
	t.Parallel()
	d := setup(t)
	a := d.inB()
	copied := func() error {
		_, err := d.Copy(t.Context(), dump.CopySource{Workspace: d.A.ID}, a)
		return err
	}
	d.interrupted("memories.copy", copied)
	testkit.Must(t, copied()) // a repetition
	if from, to := d.events(d.A, "memories.copy"), d.events(d.B, "memories.copy"); from != 1 || to != 1 {
		t.Errorf("%d events in the source, %d in the destination", from, to)
	}
	if n := d.events(d.A, "memories.dump"); n != 0 {
		t.Errorf("the source has %d dumps, too", n)
	}
}
