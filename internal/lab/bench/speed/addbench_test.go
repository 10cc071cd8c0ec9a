package speed

import (
	"bytes"
	"testing"
	"time"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// `make bench-add` runs the full benchmark. Times on a busy machine are not reliable, so this test checks
// counts only.
func TestAnAddMakesOneModelCall(t *testing.T) {
	testkit.Long(t)
	worker, cairn := devtest.Program(t, "worker"), devtest.Program(t, "starter")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := RunAdds(t.Context(), AddOptions{Models: []time.Duration{0}, Callers: []int{1, 4}, Adds: 12,
		Limit: 5 * time.Minute, Log: t.Output(), Worker: worker, Cairn: cairn})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	if want := 2*2 + 2; len(r.Cells) != want {
		t.Fatalf("%d cells, want %d", len(r.Cells), want)
	}
	for _, c := range r.Cells {
		if c.Adds != 12 || c.Failed > 0 || c.Median <= 0 || c.P99 < c.Median || c.total() <= 0 || c.Events == 0 {
			t.Errorf("%s with %d callers: %+v", c.Kind, c.Callers, c)
		}
		if c.Kind == Fast && (c.Calls != 1 || c.CPU.Gateway <= 0 || c.CPU.Worker <= 0 || c.CPU.Postgres <= 0 ||
			c.CPU.Temporal <= 0 || c.Left.Bytes() <= 0 || c.Left.WAL <= 0) {
			t.Errorf("an add with %d callers: %+v", c.Callers, c)
		}
	}
}

// A small version of the experiment; `make chaos-add` runs the full one.
func TestNoAddIsLostDoubledOrPaidTwice(t *testing.T) {
	testkit.Long(t)
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := Chaos(t.Context(), ChaosOptions{Adds: 40, People: 5, Clients: 4, Spread: 6 * time.Second,
		Reply: 20 * time.Millisecond, KillEvery: 2 * time.Second, Patience: 2 * time.Minute, Log: t.Output(),
		Worker: worker})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	if !r.Held() || r.Kills == 0 || len(r.Crashes) != 2 {
		t.Errorf("%+v", r)
	}
}
