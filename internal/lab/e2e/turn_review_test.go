package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/agentrun"
	"cairn/internal/testkit"
)

// A review uses temperature 0 and at most five calls.
func TestAReviewIsAskedAtTemperatureZeroAndFiveTimesAtMost(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	everyTurn(b)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Model.On(openaitest.Rule{Stage: "nudge", CallsFunc: looking})
	b.Say("c", 1, "Hello")
	if got := reviews(b, "c", 1); got[0].Status != agentrun.NudgeBudget || got[0].Steps != 5 {
		t.Errorf("reviews %+v", got)
	}
	if n := len(asked(b, "nudge")); n != 5 {
		t.Errorf("%d requests", n)
	}
	for stage, want := range map[string]bool{"nudge": true, "turn": false} {
		for _, r := range asked(b, stage) {
			var sent struct{ Temperature *float64 }
			testkit.Must(t, json.Unmarshal(r.Body, &sent))
			if zero := sent.Temperature != nil && *sent.Temperature == 0; zero != want {
				t.Errorf("%s %s has temperature %v", stage, r.Task, sent.Temperature)
			}
		}
	}
}

// A review stops before a request that would exceed 100,000 input tokens in total, and keeps
// what it has saved. Its first request contains a shortened conversation.
func TestAReviewStaysUnderItsInputTokens(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.TurnHistoryTokens = 0 }) // the window has room for all of it
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Model.On(openaitest.Rule{Stage: "nudge", CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{saying("memory_save",
			map[string]string{"content": fmt.Sprintf("Fact number %d.", len(c.Messages))})}
	}, Usage: &llm.Usage{Input: 45_000, Output: 10}})
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"every":6}}' where id = $1`, b.Workspace.ID)
	long := strings.Repeat("so many words ", 2200) // about 8,000 tokens
	for n := 1; n <= 5; n++ {
		b.Say("c", n, long)
	}
	b.Say("c", 6, "the last")
	got := reviews(b, "c", 1)[0]
	requests := asked(b, "nudge")
	if got.Status != agentrun.NudgeBudget || len(requests) != 2 || len(got.Writes) != 2 {
		t.Errorf("after %d requests the review is %+v", len(requests), got)
	}
	if n := llm.EstimateTokens(requests[0].Last); n > 16_000 || !strings.Contains(requests[0].Last, "the last") ||
		!strings.Contains(requests[0].Last, "characters left out") {
		t.Errorf("the material has %d tokens", n)
	}
}
