package openaitest

import (
	"fmt"
	"strings"
	"testing"
)

func TestRulesAreChosenByLabelTextAndOccurrence(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "extract", Match: `refund \d+`, Reply: "by text"})
	srv.On(Rule{Stage: "extract", Times: 1, Reply: "once"})
	srv.On(Rule{Stage: "extract", Reply: "first added"})
	srv.On(Rule{Stage: "extract", Reply: "never"})
	srv.On(Rule{Stage: "extract", Nth: 4, Reply: "fourth"})
	srv.On(Rule{Stage: "judge", ReplyFunc: func(call Call) string { return call.Stage + " " + call.Last }})
	for i, step := range []struct{ stage, message, want string }{
		{"extract", "refund 12", "by text"},
		{"extract", "x", "once"},
		{"extract", "x", "first added"},
		{"extract", "x", "fourth"},
		{"extract", "x", "first added"},
		{"judge", "退款", "judge 退款"},
	} {
		if _, answer := post(t.Context(), srv, step.stage, step.message); content(t, answer) != step.want {
			t.Errorf("request %d: got %s, want %s", i, answer, step.want)
		}
	}
}

// recorder is a testing.TB that only records failures.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestAnUnmatchedRequestFailsTheTest(t *testing.T) {
	t.Parallel()
	inner := &recorder{TB: t}
	srv := New(inner)
	srv.On(Rule{Stage: "extract", Reply: "ok"})
	if status, _ := post(t.Context(), srv, "extract", "x"); status != 200 {
		t.Errorf("matched: got %d", status)
	}
	if status, _ := post(t.Context(), srv, "other", "surprise"); status != statusUnmatched {
		t.Errorf("unmatched: got %d", status)
	}
	if calls := srv.Requests(); len(calls) != 2 || !calls[1].Unknown || calls[0].Unknown {
		t.Errorf("recorded %+v", calls)
	}
	for _, cleanup := range inner.cleanups {
		cleanup()
	}
	if len(inner.failures) != 1 || !strings.Contains(inner.failures[0], "surprise") {
		t.Errorf("the test failed with %q, want one failure that names the request", inner.failures)
	}
}

func TestForgettingLeavesOnlyWhatNoRuleMatched(t *testing.T) {
	t.Parallel()
	srv, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.On(Rule{Stage: "extract", Reply: "once", Times: 1})
	post(t.Context(), srv, "extract", "a")
	post(t.Context(), srv, "extract", "b") // of no rule
	srv.Forget()
	if left := srv.Requests(); len(left) != 1 || !left[0].Unknown || left[0].Last != "b" || len(srv.Paid()) != 0 {
		t.Errorf("left are %+v, paid %v", left, srv.Paid())
	}
	srv.On(Rule{Stage: "extract", Reply: "fresh"})
	if _, answer := post(t.Context(), srv, "extract", "c"); !strings.Contains(answer, "fresh") {
		t.Errorf("answered %s", answer)
	}
}
