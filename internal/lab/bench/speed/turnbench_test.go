package speed

import (
	"bytes"
	"testing"

	"cairn/internal/lab/devtest"
)

// `make bench-turns` runs the full benchmark. Times on a busy machine are not reliable, so
// this test checks counts only.
func TestATurnHasAsManyEventsAsPromised(t *testing.T) {
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	o := TurnTiny()
	o.Log, o.Worker = t.Output(), worker
	r, err := RunTurns(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if want := len(o.Loads) * (1 + len(o.Calls)); len(r.Cells) != want {
		t.Fatalf("%d cells, want %d", len(r.Cells), want)
	}
	for _, c := range r.Cells {
		if c.Turns == 0 || c.Median <= 0 || c.P99 < c.Median || c.PerSecond <= 0 {
			t.Errorf("nothing was measured of %d calls at %d: %+v", c.Calls, c.AtOnce, c)
		}
		if c.AtOnce == 1 && (c.Events == 0 || c.Events > EventGoal(c.Calls)) {
			t.Errorf("a turn of %d calls has %d events, at most %d were promised", c.Calls, c.Events,
				EventGoal(c.Calls))
		}
	}
}
