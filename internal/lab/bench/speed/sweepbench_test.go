package speed

import (
	"os"
	"testing"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/pgtest"
)

func TestMain(m *testing.M) {
	WorkIfAsked() // the benchmark runs this program again as its worker
	os.Exit(m.Run())
}

// The worker is killed in the middle of a sweep: no reflection is missed or duplicated. Rates
// and memory of so few workspaces are not reliable.
func TestASweepUnderKillsMissesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	o := Tiny()
	o.Log = t.Output()
	address, namespace := apptest.Namespace(t)
	r, err := runSweep(t.Context(), o, ground.Servers{Database: pgtest.Database(t), Temporal: address,
		Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	if lost := r.Lost(); len(lost) > 0 || r.Kills != o.Kills || r.Talking != 12 || r.PerSecond <= 0 || r.Bare <= 0 {
		t.Errorf("%v: %+v", lost, r)
	}
}

func TestSpansThatOverlapCountOnce(t *testing.T) {
	t.Parallel()
	if got := union([][2]int64{{10, 20}, {0, 5}, {12, 15}, {18, 30}, {40, 41}}); got != 26 {
		t.Errorf("%d", got)
	}
}
