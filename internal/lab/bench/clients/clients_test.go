package clients

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A failure does not count only if Cairn's response shows that the scenario needs a feature
// that Cairn does not have.
func TestAScenarioDoesNotApplyOnlyForItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario, state string
		checks          []check
	}{
		{"ping", OK, []check{{Status: "SUCCESS"}, {Status: "INFO"}}},
		{"ping", Failed, []check{{Status: "INFO"}}},
		{"ping", Failed, []check{{Status: "SUCCESS"}, {Status: "FAILURE", Message: `unknown tool "test_x"`}}},
		{"tools-call-image", NotApplicable, []check{
			{Status: "FAILURE", Message: `Failed: MCP error -32602: unknown tool "test_image_content"`}}},
		{"tools-call-image", Failed, []check{{Status: "FAILURE", Message: "Failed: fetch failed"}}},
		{"tools-call-image", Failed, []check{{Status: "FAILURE", Message: `unknown tool "test_image_content"`},
			{Status: "FAILURE", Message: "no answer"}}},
		{"server-sse-polling", NotApplicable,
			[]check{{Status: "WARNING", Details: json.RawMessage(`{"message":"Server did not provide session ID"}`)}}},
		{"resources-list", Failed, []check{{Status: "FAILURE", Message: "timeout"}}},
	} {
		if got := judged(c.scenario, c.checks); got.State != c.state {
			t.Errorf("%s with %+v: %+v, want %s", c.scenario, c.checks, got, c.state)
		}
	}
}

func TestOneFailureOrAMissingClientFailsTheRun(t *testing.T) {
	t.Parallel()
	rows := []Row{{Client: mem0, State: OK}, {Client: conformance, Call: "ping", State: OK},
		{Client: conformance, Call: "x", State: NotApplicable}, {Client: inspector, State: OK},
		{Client: skillsRef, State: OK}}
	if !(Result{rows, 4}).Held() || (Result{rows[:4], 4}).Held() ||
		(Result{append(rows[:len(rows):len(rows)], Row{Client: mem0, State: Failed}), 4}).Held() {
		t.Error("wrong result of Held")
	}
	var report strings.Builder
	if err := (Result{rows, 4}).Report(&report, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil ||
		!strings.Contains(report.String(), "1 of 2 server scenarios pass, 1 do not apply, 0 fail.") ||
		!strings.Contains(report.String(), "2026-01-02") {
		t.Error(report.String(), err)
	}
}
