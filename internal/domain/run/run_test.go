package run_test

import (
	"encoding/json"
	"testing"

	"cairn/internal/domain/run"
	"cairn/internal/testkit"
)

// An operation ID identifies one effect: it differs by run, step and position. The workspace is not
// part of it, because each workspace has its own log.
func TestEachEffectOfARunHasItsOwnOperation(t *testing.T) {
	t.Parallel()
	ref := run.Ref{Workspace: 3, Run: "run_12"}
	if got := ref.Op("step-1", 0); got != "run_12/step-1/0" {
		t.Errorf("the operation is %q", got)
	}
	seen := map[string]bool{}
	for _, op := range []string{
		ref.Op("step-1", 0), ref.Op("step-1", 1), ref.Op("step-11", 0), ref.Op("step-1", 10),
		run.Ref{Workspace: 3, Run: "run_1"}.Op("2/step-1", 0), run.Ref{Workspace: 3, Run: "run_13"}.Op("step-1", 0),
	} {
		if seen[op] {
			t.Errorf("two effects are called %q", op)
		}
		seen[op] = true
	}
	if again := (run.Ref{Workspace: 4, Run: "run_12"}).Op("step-1", 0); again != ref.Op("step-1", 0) {
		t.Errorf("operation %q depends on the workspace", again)
	}
}

// Workflow histories contain references, so their encoding must not change.
func TestAReferenceKeepsItsForm(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(run.Ref{Workspace: 3, Run: "run_12"})
	testkit.Must(t, err)
	if string(raw) != `{"workspace":3,"run":"run_12"}` {
		t.Errorf("it is written %s", raw)
	}
	var back run.Ref
	if err := json.Unmarshal(raw, &back); err != nil || back != (run.Ref{Workspace: 3, Run: "run_12"}) {
		t.Errorf("it is read as %+v, %v", back, err)
	}
}

// A usage without a known price has no cost. That differs from a cost of 0.
func TestAUsageTellsOnlyOfAKnownCost(t *testing.T) {
	t.Parallel()
	free := int64(0)
	for want, u := range map[string]run.Usage{
		`{"calls":1,"attempts":2,"unknown":0,"input_tokens":3,"output_tokens":4}`: {
			Keys: 1, Attempts: 2, Input: 3, Output: 4},
		`{"calls":0,"attempts":0,"unknown":1,"input_tokens":0,"output_tokens":0,"cost_micros":0,"estimated":true}`: {
			Unknown: 1, CostMicros: &free, Estimated: true},
	} {
		raw, err := json.Marshal(u)
		testkit.Must(t, err)
		if string(raw) != want {
			t.Errorf("it is written %s, want %s", raw, want)
		}
	}
}
