package notice

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/prompt"
)

// Call is one tool call with what came back.
type Call struct {
	Tool      string
	Arguments string // JSON text as it was written
	Index     int    // of the message that made it
	Result    string
	Answered  bool
	Failed    bool
}

// Argument is one top-level argument of a call.
type Argument struct {
	Name   string
	Kind   string   // JSON type
	Leaves []string // its scalar values as text
}

var (
	readers, checkers = Words("readers"), Words("checkers")

	failure = regexp.MustCompile(`(?i)^\W*(?:error|exception|traceback|failed|failure|fatal|错误|失败|出错|异常)|^\s*\{\s*"(?:error|exception)"\s*:\s*["{]`)
	jsonKey = regexp.MustCompile(`"([\p{L}_][\p{L}\p{N}_]*)"\s*:`)
)

// Calls pairs the calls of a transcript with the tool messages that follow.
func Calls(messages []prompt.Message) []Call {
	var calls []Call
	for _, m := range messages {
		for _, text := range m.ToolCalls {
			name, arguments, _ := strings.Cut(text, "(")
			calls = append(calls, Call{Tool: strings.TrimSpace(name), Arguments: strings.TrimSuffix(strings.TrimSpace(arguments), ")"), Index: m.Index})
		}
		open := slices.IndexFunc(calls, func(c Call) bool { return !c.Answered && (m.Name == "" || c.Tool == m.Name) })
		if m.Role == "tool" && open >= 0 {
			c := &calls[open]
			c.Result, c.Answered, c.Failed = m.Content, true, failure.MatchString(m.Content)
		}
	}
	// A thought has no effect and no answer: it is no step of a method.
	return slices.DeleteFunc(calls, func(c Call) bool {
		spoken := !slices.ContainsFunc(c.List(), func(a Argument) bool { return !a.Composed() })
		return c.Answered && strings.TrimSpace(c.Result) == "" && spoken
	})
}

// Words splits a tool's name: get_user, getUser and crm.get-user give get user.
func (c Call) Words() []string {
	name := c.Tool[strings.LastIndexAny(c.Tool, "./:")+1:]
	name = name[strings.LastIndex(name, "__")+1:]
	var out strings.Builder
	lower := false
	for _, r := range name {
		if r == '_' || r == '-' || unicode.IsUpper(r) && lower {
			out.WriteByte(' ')
		}
		if lower = unicode.IsLower(r); r != '_' && r != '-' {
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.Fields(out.String())
}

func (c Call) startsWith(verbs map[string]bool) bool {
	words := c.Words()
	return len(words) == 0 || verbs[words[0]]
}

// Changes reports whether the name sounds as if a call changes something.
func (c Call) Changes() bool { return !c.startsWith(readers) }

// Checks reports whether the name sounds like a calculation or a check.
func (c Call) Checks() bool { return c.startsWith(checkers) }

// List gives the arguments in the order they were written; when the text is no
// JSON object, only the names that it shows.
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
		a := Argument{Name: match[1], Kind: kindOf(raw)}
		for _, found := range value.FindAllStringSubmatch(string(raw), -1) {
			if found[2] == "" {
				a.Leaves = append(a.Leaves, unquote(found[0]))
			}
		}
		out = append(out, a)
	}
	return out
}

// unquote reads a scalar of JSON text as text.
func unquote(scalar string) string {
	var text string
	if json.Unmarshal([]byte(scalar), &text) != nil {
		return scalar // a number or a boolean
	}
	return text
}

func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "string"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// Composed reports whether the value was made up for the call: a sentence or a
// formula rather than something said or looked up.
func (a Argument) Composed() bool {
	return a.Kind == "string" && len(a.Leaves) == 1 && (len(strings.Fields(a.Leaves[0])) > 4 || strings.ContainsAny(a.Leaves[0], "*+=/()"))
}
