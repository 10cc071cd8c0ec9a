package production

import (
	"bytes"
	"slices"
	"testing"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// A small version of the experiment. `make production` runs the full one, and also the tests of edges,
// which need no second run here.
func TestADeploymentHoldsUnderFaultsAndAttacks(t *testing.T) {
	testkit.Long(t)
	worker, cairn := devtest.Program(t, "worker"), devtest.Program(t, "starter")
	devtest.PgBouncer(t) // names the package if it cannot be installed
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	r, err := Run(t.Context(), Options{Small: true, Log: t.Output(), Worker: worker, Cairn: cairn})
	if err != nil {
		t.Error(err)
	}
	for _, row := range r.Rows {
		if !row.Held {
			t.Errorf("step %d: %s: %s", row.Step, row.Must, row.Observed)
		}
	}
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	steps := map[int]bool{}
	for _, row := range r.Rows {
		steps[row.Step] = true
	}
	if len(steps) != len(Steps()) {
		t.Errorf("%d steps have results, want %v", len(steps), Steps())
	}
}

func TestAMarkIsNotFoundInTheIDOfARun(t *testing.T) {
	t.Parallel()
	const reply = `{"run":"run_0h3xkp4w17t20019s1t5v6w0y3","reply":"I am well, p1w02t0003 #7",` +
		`"skill":"export-p1w02t0000"}`
	if found := workspaceIn.FindAllString(reply, -1); !slices.Equal(found, []string{"p1w02", "p1w02"}) {
		t.Errorf("workspaces %q", found)
	}
	if found := markIn.FindAllString(reply, -1); !slices.Equal(found, []string{"p1w02t0003", "p1w02t0000"}) {
		t.Errorf("marks %q", found)
	}
}

func TestAnUnknownStepIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), Options{Steps: []int{6}}); err == nil {
		t.Error("step 6 is accepted")
	}
}
