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

var unruns = []agent.Unrun{agent.UnrunBudget, agent.UnrunWallClock, agent.UnrunGuardrail, agent.UnrunRepeated,
	agent.UnrunInterrupted, agent.UnrunUnknownTool, agent.UnrunArguments, agent.UnrunTimeout}

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
	for unrun, want := range map[agent.Unrun]struct {
		code    fault.Code
		message string
	}{
		agent.UnrunBudget:      {fault.QuotaExceeded, "not executed: budget exhausted"},
		agent.UnrunWallClock:   {fault.QuotaExceeded, "time is up"},
		agent.UnrunGuardrail:   {fault.QuotaExceeded, "repeated"},
		agent.UnrunRepeated:    {fault.InvalidArgument, "web_search gave the same result"},
		agent.UnrunInterrupted: {fault.Cancelled, "interrupted"},
		agent.UnrunUnknownTool: {fault.UnknownTool, `no tool "web_search"`},
		agent.UnrunArguments:   {fault.InvalidArgument, "not a JSON object"},
		agent.UnrunTimeout:     {fault.Unavailable, "no result in time"},
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
	for reason, want := range map[agent.Reason]agent.Unrun{
		agent.Exhausted: agent.UnrunBudget, agent.OverBudget: agent.UnrunBudget, agent.WallClock: agent.UnrunWallClock,
		agent.Guardrail: agent.UnrunGuardrail, agent.Interrupted: agent.UnrunInterrupted, agent.ProviderError: agent.UnrunInterrupted,
	} {
		if got := reason.Unrun(); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
}
