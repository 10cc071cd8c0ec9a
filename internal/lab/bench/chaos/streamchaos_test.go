package chaos

import (
	"bytes"
	"testing"
	"time"

	"cairn/internal/lab/devtest"
)

// A small version of the experiment; `make chaos-stream` runs the full one.
func TestStreamsOutliveTheirWorker(t *testing.T) {
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := RunStreams(
		t.Context(),
		StreamOptions{Kills: 3, KillEvery: 2 * time.Second, AtOnce: 4, Log: t.Output(), Worker: worker},
	)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if !r.Held() || r.Kills != 3 || r.Messages < 4 {
		t.Errorf("a promise was broken: %+v", r)
	}
}
