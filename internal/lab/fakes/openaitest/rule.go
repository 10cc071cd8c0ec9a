package openaitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/llm"
)

// ToolCall is a call that a scripted model makes.
type ToolCall = llm.ToolCall

// RoleTool is the role of a message with a tool's result.
const RoleTool = llm.RoleTool

// Rule is one rule of the script: a selector of requests and their response. If several rules match
// a request, one with a matching Nth wins over one without; otherwise the first one added wins.
type Rule struct {
	// Selectors. Empty fields match everything. Embedding requests and transcriptions match only rules that name their
	// stage, by default "embed" and "transcribe".
	Stage   string         `json:"stage,omitempty"`
	Run     string         `json:"run,omitempty"`
	Task    string         `json:"task,omitempty"`
	File    string         `json:"file,omitempty"`
	Match   string         `json:"match,omitempty"`   // regular expression over the last message
	System  string         `json:"system,omitempty"`  // text that the system message contains
	Last    string         `json:"last,omitempty"`    // role of the last message
	Offers  []string       `json:"offers,omitempty"`  // tools that must all be offered
	Choice  llm.ToolChoice `json:"choice,omitempty"`  // tool_choice of the request, such as llm.ChooseNone
	Results *int           `json:"results,omitempty"` // number of tool results in the conversation; new(0) means none
	// matches only the n-th request that the fields above match, from 1; 0 means any
	Nth   int `json:"nth,omitempty"`
	Times int `json:"times,omitempty"` // maximum number of responses, 0 means no limit

	// Response: a chat completion with Reply, unless a fault is set. With Status, Reply is the
	// error's message, or the whole body if it is JSON.
	Reply     string            `json:"reply,omitempty"`
	ReplyFunc func(Call) string `json:"-"` // instead of Reply
	// tool calls, sent unchanged: IDs may be missing or repeated, arguments invalid
	Calls     []llm.ToolCall            `json:"calls,omitempty"`
	CallsFunc func(Call) []llm.ToolCall `json:"-"`                 // instead of Calls
	Refusal   string                    `json:"refusal,omitempty"` // the refusal of the message
	// finish_reason; if empty "stop", or "tool_calls" with calls
	Finish string     `json:"finish,omitempty"`
	Usage  *llm.Usage `json:"usage,omitempty"` // estimated if nil, omitted if zero
	// UsageFunc is instead of Usage. It gets the text of the reply.
	UsageFunc func(Call, string) llm.Usage `json:"-"`

	// Faults and timing. Barrier and Delay are applied first, in this order.
	Barrier string `json:"barrier,omitempty"` // name of a barrier; waits until its Release
	// since arrival, or since the barrier's release; in a script: "delay": "20ms"
	Delay time.Duration `json:"-"`
	// Pace is the time between two events of a stream; in a script: "pace": "5ms".
	Pace time.Duration `json:"-"`
	// Events is the number of events after which a stream stops: with DropAfter, the connection is cut,
	// otherwise it stays silent. 0 means all of them.
	Events     int    `json:"events,omitempty"`
	Status     int    `json:"status,omitempty"`      // responds with an error of this status
	RetryAfter string `json:"retry_after,omitempty"` // the Retry-After header
	Drop       bool   `json:"drop,omitempty"`        // cuts the connection before the response
	DropAfter  bool   `json:"drop_after,omitempty"`  // cuts the connection in the middle of the response
	Malformed  bool   `json:"malformed,omitempty"`   // responds with 200 and invalid JSON
}

// scripted is an active rule.
type scripted struct {
	Rule
	match *regexp.Regexp
	seen  int // requests that matched the selectors
	used  int // requests that got this rule's response
}

func compile(rule Rule) (*scripted, error) {
	match, err := regexp.Compile(rule.Match)
	if err != nil {
		return nil, fmt.Errorf("match of the rule for stage %q: %w", rule.Stage, err)
	}
	return &scripted{Rule: rule, match: match}, nil
}

func (s *scripted) selects(call Call) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return (!call.embedding() && !call.transcription() || s.Stage != "") &&
		same(s.Stage, call.Stage) && same(s.Run, call.Run) && same(s.Task, call.Task) && same(s.File, call.File) &&
		(s.Match == "" || s.match.MatchString(call.Last)) && s.selectsTools(call)
}

func (s *scripted) selectsTools(call Call) bool {
	role := ""
	if n := len(call.Messages); n > 0 {
		role = call.Messages[n-1].Role
	}
	lacks := func(name string) bool {
		return !slices.ContainsFunc(call.Tools, func(t llm.Tool) bool { return t.Name == name })
	}
	if s.System != "" && (len(call.Messages) == 0 || !strings.Contains(call.Messages[0].Content, s.System)) {
		return false
	}
	return (s.Last == "" || s.Last == role) && (s.Choice == "" || s.Choice == call.Choice) &&
		(s.Results == nil || *s.Results == call.Results()) && !slices.ContainsFunc(s.Offers, lacks)
}

// choose counts call for every rule and returns the rule that responds to it.
func choose(rules []*scripted, call Call) (Rule, bool) {
	var exact, first *scripted
	for _, rule := range rules {
		if !rule.selects(call) {
			continue
		}
		rule.seen++
		if rule.Times > 0 && rule.used >= rule.Times {
			continue
		}
		if rule.Nth == rule.seen && exact == nil {
			exact = rule
		}
		if rule.Nth == 0 && first == nil {
			first = rule
		}
	}
	chosen := exact
	if chosen == nil {
		chosen = first
	}
	if chosen == nil {
		return Rule{}, false
	}
	chosen.used++
	return chosen.Rule, true
}

// Script is the body of PUT /script. It replaces all rules.
type Script struct {
	Rules          []Rule `json:"rules"`
	Dims           int    `json:"dims,omitempty"`            // of embeddings, 0 leaves them unchanged
	WrongDimension bool   `json:"wrong_dimension,omitempty"` // embeddings have one extra number
}

// UnmarshalJSON decodes a rule whose durations are texts.
func (r *Rule) UnmarshalJSON(data []byte) error {
	type plain Rule
	wire := struct {
		*plain
		Delay string `json:"delay"`
		Pace  string `json:"pace"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	var err error
	if r.Delay, err = duration(wire.Delay); err != nil {
		return err
	}
	r.Pace, err = duration(wire.Pace)
	return err
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

// MarshalJSON is the inverse of UnmarshalJSON. Functions are omitted.
func (r Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	wire := struct {
		plain
		Delay string `json:"delay,omitempty"`
		Pace  string `json:"pace,omitempty"`
	}{plain: plain(r)}
	if r.Delay != 0 {
		wire.Delay = r.Delay.String()
	}
	if r.Pace != 0 {
		wire.Pace = r.Pace.String()
	}
	return json.Marshal(wire)
}
