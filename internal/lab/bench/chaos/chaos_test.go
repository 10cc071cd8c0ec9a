package chaos

import (
	"bytes"
	"testing"
	"time"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// A small version of the experiment; `make chaos` runs the full one.
func TestNothingIsLostDoubledOrPaidTwice(t *testing.T) {
	testkit.Long(t)
	worker := devtest.Program(t, "worker")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := Run(t.Context(), Options{Distillations: 26, Skills: 8, Clients: 4, Spread: 5 * time.Second,
		KillEvery: 2 * time.Second, Kills: 3,
		Patience: time.Minute, DatabaseStep: 3 * time.Second, Log: t.Output(), Worker: worker})
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
	if len(r.Crashes) != 2 || r.Kills == 0 {
		t.Errorf("%d crashes and %d kills: too few faults", len(r.Crashes), r.Kills)
	}
	for _, c := range r.Crashes {
		if c.Error != "" {
			t.Errorf("%s: %s", c.Server, c.Error)
		}
	}
	if want := 26; r.Lost.Accepted != want {
		t.Errorf("%d runs, want %d", r.Lost.Accepted, want)
	}
}
