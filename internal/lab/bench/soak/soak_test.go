package soak

import (
	"bytes"
	"testing"
	"time"

	"cairn/internal/lab/devtest"
)

// A small version of the experiment with a restore in the middle; `make soak-restore` runs the full one.
func TestConversationsOutliveARestore(t *testing.T) {
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	const conversations, turns = 6, 12
	r, err := Run(t.Context(), Options{Conversations: conversations, Turns: turns, KillEvery: 2 * time.Second, Kills: 1,
		Restore: true, Patience: time.Minute, Log: t.Output(), Worker: worker})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if want := conversations * turns; !r.Held() || r.Doubled.AllTurns != want {
		t.Errorf("a promise was broken: %d turns, want %d", r.Doubled.AllTurns, want)
	}
}

// A small version of the experiment; `make soak` runs the full one.
func TestConversationsOutliveTheirWorker(t *testing.T) {
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	const kills, conversations, turns = 2, 6, 12
	r, err := Run(t.Context(), Options{Conversations: conversations, Turns: turns, KillEvery: time.Second, Kills: kills,
		Patience: time.Minute, Log: t.Output(), Worker: worker})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	if !r.Held() {
		t.Error("a promise was broken")
	}
	if r.Kills != kills {
		t.Errorf("%d kills: too few faults", r.Kills)
	}
	if want := conversations * turns; r.Doubled.AllTurns != want {
		t.Errorf("%d turns, want %d", r.Doubled.AllTurns, want)
	}
	if r.Reviews.Wanted < conversations || r.Doubled.AllMemories < r.Reviews.Wanted {
		t.Errorf("%d reviews and %d memories: too few to detect duplicates", r.Reviews.Wanted,
			r.Doubled.AllMemories)
	}
}
