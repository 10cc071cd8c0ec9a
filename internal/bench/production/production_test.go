package production

import (
	"bytes"
	"testing"

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/testkit"
)

// A small version of the experiment; `make production` runs the full one, which also runs the tests of
// edges that are tests of their packages here.
func TestADeploymentHoldsUnderFaultsAndAttacks(t *testing.T) {
	testkit.Long(t)
	worker, cairn := devtest.Program(t, "worker"), devtest.Program(t, "starter")
	devtest.PgBouncer(t) // names the package if it cannot be installed
	t.Setenv("DATABASE_URL", "")
	t.Setenv("TEMPORAL_ADDRESS", "")
	o := Small()
	o.Log, o.Worker, o.Cairn = t.Output(), worker, cairn
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	if !r.Held() {
		t.Error("a promise was broken")
	}
	steps := map[int]bool{}
	for _, row := range r.Rows {
		steps[row.Step] = true
	}
	if len(steps) != len(Steps()) {
		t.Errorf("%d steps have results, want %v", len(steps), Steps())
	}
}

func TestAnUnknownStepIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), Options{Steps: []int{6}}); err == nil {
		t.Error("step 6 is accepted")
	}
}
