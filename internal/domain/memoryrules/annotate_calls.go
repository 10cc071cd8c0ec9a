package memoryrules

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/prompt"
)

// Call is one tool call with its result.
type Call struct {
	Tool      string
	Arguments string // JSON text as written
	Index     int    // of the message with the call
	Job       int    // number of user messages before the call; a job is the part between two user messages
	Confirmed bool   // the latest user message agrees
	Result    string
	Answered  bool
	Failed    bool
}

// Argument is one top-level argument of a call.
type Argument struct {
	Name   string
	Kind   string   // JSON type
	Leaves []string // scalar values as text
}

var (
	readers, checkers = Words("readers"), Words("checkers")

	annotatedFailure = regexp.MustCompile(`(?i)^\W*(?:error|exception|traceback|failed|failure|fatal|错误|失败|出错|异常)|` +
		`^\s*\{\s*"(?:error|exception)"\s*:\s*["{]|^\s*\{[^{}]*"ok"\s*:\s*false`)
	agreed = regexp.MustCompile(`(?i)^\W*(?:yes|yep|yeah|sure|ok|okay|confirm|i confirm|correct|go ahead|please ` +
		`(?:proceed|go|do)|that (?:works|sounds|looks)|sounds good|absolutely|对|好|是的|确认|可以|同意|没问题|行)`)
	owner = regexp.MustCompile(`^.*(?:[./:]|__)`)
	humps = regexp.MustCompile(`(\p{Ll})(\p{Lu})|[_-]`)
	// by first byte
	annotateKinds = map[byte]string{'"': "string", '[': "array", '{': "object", 't': "boolean", 'f': "boolean"}
	jsonKey       = regexp.MustCompile(`"([\p{L}_][\p{L}\p{N}_]*)"\s*:`)
)

// Calls pairs the calls of a transcript with the following tool messages.
func Calls(messages []prompt.Message) []Call {
	var calls []Call
	job, confirmed := 0, false
	for _, m := range messages {
		if m.Role == "user" {
			job, confirmed = job+1, agreed.MatchString(m.Content)
		}
		for _, text := range m.ToolCalls {
			name, arguments, _ := strings.Cut(text, "(")
			arguments = strings.TrimSuffix(strings.TrimSpace(arguments), ")")
			calls = append(calls, Call{Tool: strings.TrimSpace(name), Arguments: arguments, Index: m.Index, Job: job,
				Confirmed: confirmed})
		}
		open := slices.IndexFunc(calls, func(c Call) bool { return !c.Answered && (m.Name == "" || c.Tool == m.Name) })
		if m.Role == "tool" && open >= 0 {
			c := &calls[open]
			c.Result, c.Answered, c.Failed = m.Content, true, Fails(m.Content)
		}
	}
	// A thought has no effect and no result, so it is not a step of a method.
	return slices.DeleteFunc(calls, func(c Call) bool {
		lookedUp := func(a Argument) bool { return !a.Composed() }
		return c.Answered && strings.TrimSpace(c.Result) == "" && !slices.ContainsFunc(c.List(), lookedUp)
	})
}

// Words splits a tool's name: get_user, getUser and crm.get-user return get, user.
func (c Call) Words() []string {
	name := humps.ReplaceAllString(owner.ReplaceAllString(c.Tool, ""), "$1 $2")
	return strings.Fields(strings.ToLower(name))
}

func (c Call) verb() string { return append(c.Words(), "")[0] }

// Changes reports whether the name suggests that a call changes something.
func (c Call) Changes() bool { return c.verb() != "" && !readers[c.verb()] }

// Checks reports whether the name suggests a calculation or a check.
func (c Call) Checks() bool { return checkers[c.verb()] }

// List returns the arguments in written order. If the text is not a JSON object, it returns only
// the names that it finds.
func (c Call) List() []Argument {
	var object map[string]json.RawMessage
	broken := json.Unmarshal([]byte(c.Arguments), &object) != nil
	var out []Argument
	seen := map[string]bool{}
	for _, match := range jsonKey.FindAllStringSubmatch(c.Arguments, -1) {
		raw, top := object[match[1]]
		if seen[match[1]] || !top && !broken {
			continue
		}
		seen[match[1]] = true
		a := Argument{Name: match[1], Kind: "string"}
		if top {
			a.Kind = cmp.Or(annotateKinds[raw[0]], "number")
		}
		a.Leaves = leaves(string(raw))
		out = append(out, a)
	}
	return out
}

// leaves returns the scalar values of a JSON text.
func leaves(text string) (out []string) {
	for _, found := range value.FindAllStringSubmatch(text, -1) {
		if found[2] == "" {
			out = append(out, unquote(found[0]))
		}
	}
	return out
}

// Texts returns the lines of a tool's result, or the lines of the values of a JSON result.
func Texts(result string) []string {
	if json.Valid([]byte(result)) {
		result = strings.Join(leaves(result), "\n")
	}
	return Lines(result)
}

// Fails reports whether a tool's result describes a failure.
func Fails(result string) bool { return annotatedFailure.MatchString(result) }

// unquote converts a JSON scalar to text.
func unquote(scalar string) string {
	text := scalar
	_ = json.Unmarshal([]byte(scalar), &text) // a number or a boolean is unchanged
	return text
}

// Composed reports whether the value was written for the call: a sentence or a formula, rather than
// a value from the conversation.
func (a Argument) Composed() bool {
	return a.Kind == "string" && len(a.Leaves) == 1 &&
		(len(strings.Fields(a.Leaves[0])) > 4 || strings.ContainsAny(a.Leaves[0], "*+=/()"))
}
