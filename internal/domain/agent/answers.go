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
	Arguments string // valid JSON if the model followed the schema
}

// Outcome is the result of a call, or the reason why there is none.
type Outcome struct {
	Content string     // the tool's result
	Failed  bool       // Content describes an error
	Unrun   SkipReason // set if there is no result; Content is then ignored
}

// Answer is the tool message of one call.
type Answer struct {
	CallID  string
	Tool    string
	Content string
	Failed  bool
}

// SkipReason is why a call has no result.
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
	SkipUntaken     SkipReason = "untaken"         // no sandboxed worker started it, and none will
	SkipUnknown     SkipReason = "unknown_outcome" // a sandboxed worker started it and did not report back
)

// SkipReason returns why the calls left at the end of a run have no result.
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

// Answers returns one tool message for each call of a reply, in the order of the calls. Every model
// endpoint requires such a message list. The keys of known are indices of calls; calls without a
// known outcome are skipped with the reason rest.
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

// maxToolName is the number of characters of a tool's name that an error repeats.
const maxToolName = 64

// content is the tool result that explains to the model why there is none. It has the form of every
// other tool error.
func (u SkipReason) content(tool string) string {
	if r := []rune(tool); len(r) > maxToolName { // the model has the whole name
		tool = string(r[:maxToolName]) + "…"
	}
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
	const answerNow = "reply from what is known, and state what is still open"
	switch u {
	case SkipBudget:
		return fault.New(fault.QuotaExceeded, "not executed: budget exhausted", answerNow)
	case SkipWallClock:
		return fault.New(fault.QuotaExceeded, "not executed: time limit reached", answerNow)
	case SkipGuardrail:
		return fault.New(fault.QuotaExceeded, "not executed: the same calls were repeated without a new result",
			answerNow)
	case SkipRepeated:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("not executed: %s gave the same result to the same arguments twice", tool),
			"use that result, change the arguments, or reply")
	case SkipUnknownTool:
		return fault.New(fault.UnknownTool, fmt.Sprintf("not executed: unknown tool %q", tool), "")
	case SkipArguments:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("not executed: the arguments of %s are not a JSON object", tool),
			"send one JSON object that fits the tool's schema")
	case SkipTimeout:
		return fault.New(fault.Unavailable, fmt.Sprintf("%s timed out", tool),
			"check whether it took effect before you try again")
	case SkipUntaken:
		return fault.New(fault.Unavailable, fmt.Sprintf("not executed: no sandboxed worker accepted %s", tool),
			"continue without it, and state what is still open")
	case SkipUnknown:
		return fault.New(fault.UnknownOutcome,
			fmt.Sprintf("%s was interrupted: outcome unknown", tool), "")
	}
	return fault.New(fault.Cancelled, "not executed: the run was interrupted", answerNow)
}
