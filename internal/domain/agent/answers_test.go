package agent_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

var unruns = []agent.SkipReason{agent.SkipBudget, agent.SkipWallClock, agent.SkipGuardrail, agent.SkipRepeated,
	agent.SkipInterrupted, agent.SkipUnknownTool, agent.SkipArguments, agent.SkipTimeout}

func TestEveryCallIsAnsweredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		calls := make([]agent.Call, r.IntN(8))
		known := map[int]agent.Outcome{}
		for i := range calls {
			calls[i] = agent.Call{ID: "call_" + strconv.Itoa(i), Tool: "tool" + strconv.Itoa(r.IntN(3))}
			switch r.IntN(3) {
			case 0:
				known[i] = agent.Outcome{Content: strconv.Itoa(i), Failed: r.IntN(2) == 0}
			case 1:
				known[i] = agent.Outcome{Content: "never shown", Unrun: unruns[r.IntN(len(unruns))]}
			}
		}
		known[len(calls)] = agent.Outcome{Content: "of no call"}
		rest := unruns[r.IntN(len(unruns))]

		answers := agent.Answers(calls, known, rest)
		if len(answers) != len(calls) {
			t.Fatalf("seed %d: %d answers to %d calls", seed, len(answers), len(calls))
		}
		for i, answer := range answers {
			if answer.CallID != calls[i].ID || answer.Tool != calls[i].Tool {
				t.Fatalf("seed %d: answer %d is to %s", seed, i, answer.CallID)
			}
			outcome, ok := known[i]
			if ok && outcome.Unrun == "" {
				if answer.Content != outcome.Content || answer.Failed != outcome.Failed {
					t.Fatalf("seed %d: %+v for %+v", seed, answer, outcome)
				}
				continue
			}
			if !ok {
				outcome.Unrun = rest
			}
			want := agent.Answers(calls[i:i+1], nil, outcome.Unrun)[0]
			if answer != want || !answer.Failed || strings.Contains(answer.Content, "never shown") {
				t.Fatalf("seed %d: %+v for %+v", seed, answer, outcome)
			}
		}
	}
}

func TestAnUnrunCallSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	for unrun, want := range map[agent.SkipReason]struct {
		code    fault.Code
		message string
	}{
		agent.SkipBudget:      {fault.QuotaExceeded, "not executed: budget exhausted"},
		agent.SkipWallClock:   {fault.QuotaExceeded, "time limit reached"},
		agent.SkipGuardrail:   {fault.QuotaExceeded, "repeated"},
		agent.SkipRepeated:    {fault.InvalidArgument, "web_search gave the same result"},
		agent.SkipInterrupted: {fault.Cancelled, "interrupted"},
		agent.SkipUnknownTool: {fault.UnknownTool, `unknown tool "web_search"`},
		agent.SkipArguments:   {fault.InvalidArgument, "not a JSON object"},
		agent.SkipTimeout:     {fault.Unavailable, "timed out"},
	} {
		answer := agent.Answers([]agent.Call{{ID: "1", Tool: "web_search", Arguments: "{"}}, nil, unrun)[0]
		var body struct {
			OK    *bool
			Error struct {
				Code          fault.Code
				Message, Hint string
				Retryable     *bool
			}
		}
		if err := json.Unmarshal([]byte(answer.Content), &body); err != nil {
			t.Fatalf("%s: %v", unrun, err)
		}
		if body.OK == nil || *body.OK || body.Error.Retryable == nil || body.Error.Hint == "" {
			t.Errorf("%s: %s", unrun, answer.Content)
		}
		if body.Error.Code != want.code || !strings.Contains(body.Error.Message, want.message) {
			t.Errorf("%s: %s", unrun, answer.Content)
		}
	}
}

func TestEveryEndHasItsReasonForCallsLeftOver(t *testing.T) {
	t.Parallel()
	for reason, want := range map[agent.Reason]agent.SkipReason{
		agent.Exhausted: agent.SkipBudget, agent.OverBudget: agent.SkipBudget, agent.WallClock: agent.SkipWallClock,
		agent.Guardrail: agent.SkipGuardrail, agent.Interrupted: agent.SkipInterrupted,
		agent.ProviderError: agent.SkipInterrupted,
	} {
		if got := reason.SkipReason(); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
}
