package agent

import (
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
)

// Call is a tool call as the model wrote it.
type Call struct {
	ID        string
	Tool      string
	Arguments string // JSON, when the model kept to it
}

// Outcome is what became of a call: a result, or why there is none.
type Outcome struct {
	Content string     // the tool's result
	Failed  bool       // the result tells of an error
	Unrun   SkipReason // set when there is no result; Content is then ignored
}

// Answer is the tool message of one call.
type Answer struct {
	CallID  string
	Tool    string
	Content string
	Failed  bool
}

// SkipReason is why a call has no result of its own.
type SkipReason string

const (
	SkipBudget      SkipReason = "budget"
	SkipWallClock   SkipReason = "wall_clock"
	SkipGuardrail   SkipReason = "guardrail"
	SkipRepeated    SkipReason = "repeated"
	SkipInterrupted SkipReason = "interrupted"
	SkipUnknownTool SkipReason = "unknown_tool"
	SkipArguments   SkipReason = "arguments" // not JSON
	SkipTimeout     SkipReason = "timeout"
	SkipUntaken     SkipReason = "untaken"         // no sandboxed worker began it, and none will
	SkipUnknown     SkipReason = "unknown_outcome" // begun by one, which did not come back
)

// SkipReason is why the calls left at the end of a run have no result.
func (r Reason) SkipReason() SkipReason {
	switch r {
	case Exhausted, OverBudget:
		return SkipBudget
	case WallClock:
		return SkipWallClock
	case Guardrail:
		return SkipGuardrail
	}
	return SkipInterrupted
}

// Answers answers every call of a reply exactly once and in its order, which is
// what makes the message list valid for any endpoint. Known outcomes are by the
// index of the call; the calls without one are answered with rest.
func Answers(calls []Call, known map[int]Outcome, rest SkipReason) []Answer {
	answers := make([]Answer, len(calls))
	for i, call := range calls {
		outcome, ok := known[i]
		if !ok {
			outcome = Outcome{Unrun: rest}
		}
		if outcome.Unrun != "" {
			outcome = Outcome{Content: outcome.Unrun.content(call.Tool), Failed: true}
		}
		answers[i] = Answer{CallID: call.ID, Tool: call.Tool, Content: outcome.Content, Failed: outcome.Failed}
	}
	return answers
}

// content is the tool result that tells the model why there is none, in the form
// of every other tool error.
func (u SkipReason) content(tool string) string {
	e := u.fault(tool)
	type body struct {
		Code      fault.Code `json:"code"`
		Message   string     `json:"message"`
		Retryable bool       `json:"retryable"`
		Hint      string     `json:"hint"`
	}
	text, err := json.Marshal(struct {
		OK    bool `json:"ok"`
		Error body `json:"error"`
	}{Error: body{e.Code, e.Message, fault.Table[e.Code].Retryable, e.Hint}})
	if err != nil {
		panic(fmt.Sprintf("agent: render a tool error: %v", err)) // strings and a bool always marshal
	}
	return string(text)
}

func (u SkipReason) fault(tool string) *fault.Error {
	const answerNow = "answer from what is known, and say what is still open"
	switch u {
	case SkipBudget:
		return fault.New(fault.QuotaExceeded, "not executed: budget exhausted", answerNow)
	case SkipWallClock:
		return fault.New(fault.QuotaExceeded, "not executed: the time is up", answerNow)
	case SkipGuardrail:
		return fault.New(fault.QuotaExceeded, "not executed: the same calls were repeated without a new result",
			answerNow)
	case SkipRepeated:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("not executed: %s gave the same result to the same arguments twice", tool),
			"use that result, change the arguments, or answer")
	case SkipUnknownTool:
		return fault.New(fault.UnknownTool, fmt.Sprintf("not executed: there is no tool %q", tool), "")
	case SkipArguments:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("not executed: the arguments of %s are not a JSON object", tool),
			"send one JSON object that fits the tool's schema")
	case SkipTimeout:
		return fault.New(fault.Unavailable, fmt.Sprintf("%s gave no result in time", tool),
			"find out whether it took effect before you try again")
	case SkipUntaken:
		return fault.New(fault.Unavailable, fmt.Sprintf("not executed: no sandboxed worker took %s", tool),
			"go on without it, and say what is still open")
	case SkipUnknown:
		return fault.New(fault.UnknownOutcome,
			fmt.Sprintf("%s was begun and interrupted: nobody knows how far it came", tool), "")
	}
	return fault.New(fault.Cancelled, "not executed: the run was interrupted", answerNow)
}
