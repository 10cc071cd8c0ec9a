package speed_test

import (
	"io"
	"testing"

	"cairn/internal/lab/bench/speed"
	"cairn/internal/lab/tempcairn"
	"cairn/internal/testkit"
)

// The measurement works; its figures depend on the machine.
func TestLoadsAreMeasured(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h, done, err := tempcairn.OpenDatabase(t.Context(), tempcairn.Options{}, io.Discard)
	testkit.Must(t, err)
	t.Cleanup(done)
	r, err := speed.MeasureLoads(t.Context(), h, 700, 1)
	if err != nil || r.Batch <= 0 || r.Load <= 0 || r.Vectors <= 0 || r.Repeat <= 0 || r.Bytes == 0 {
		t.Errorf("%v: %+v", err, r)
	}
}
