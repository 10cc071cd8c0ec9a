package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
)

// mostCalls is how many calls one reply may make.
const mostCalls = 4

var firstPerson = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|my|we|our)\b|我`)

// reply is the assistant message for a request, and why it ends there.
func reply(req request) (message map[string]any, finish string) {
	v := look(req)
	if calls := v.act(); len(calls) > 0 {
		return map[string]any{"role": "assistant", "content": nil, "refusal": nil, "tool_calls": calls}, "tool_calls"
	}
	text := v.answer()
	if req.schema != nil {
		text = string(encode(fill(req.schema, req.schema, "", v, maxDepth)))
	}
	return map[string]any{"role": "assistant", "content": text, "refusal": nil}, "stop"
}

// policies say what the material holds for a parameter, by its name: the values
// worth sending, each in a call of its own. Parameters without a policy are
// filled like properties of a schema.
var policies = map[string]func(*view) []string{
	"query": questions, "question": questions,
	"content": facts, "text": facts, "fact": facts, "memory": facts,
	"procedure": methods, "body": methods,
}

// act makes the calls that the material has something new for. A tool is called
// for the first of its parameters, by name, that has a policy.
func (v *view) act() []any {
	var out []any
	named := v.choice != "" && v.choice != "auto" && v.choice != "required"
	for _, t := range v.tools {
		if t.Parameters == nil || v.choice == "none" || named && t.Name != v.choice {
			continue
		}
		for _, arguments := range v.callsFor(t, (named || v.choice == "required") && len(out) == 0) {
			if len(out) < mostCalls {
				sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", len(v.sent), len(out), arguments))
				out = append(out, map[string]any{"id": "call_" + hex.EncodeToString(sum[:8]), "type": "function",
					"function": map[string]any{"name": t.Name, "arguments": arguments}})
			}
		}
	}
	return out
}

// callsFor renders the arguments of the calls to a tool that were not made yet.
func (v *view) callsFor(t tool, forced bool) []string {
	arguments, _ := fill(t.Parameters, t.Parameters, "", v, maxDepth).(map[string]any)
	var out []string
	for _, parameter := range slices.Sorted(maps.Keys(arguments)) {
		if policies[parameter] == nil {
			continue
		}
		for _, value := range policies[parameter](v) {
			if !v.wasSent(t.Name, value) {
				arguments[parameter] = value
				out = append(out, string(encode(arguments)))
			}
		}
		return out
	}
	if forced {
		out = append(out, string(encode(arguments)))
	}
	return out
}

// wasSent reports whether an earlier call of the tool carried the value.
func (v *view) wasSent(tool, text string) bool {
	return slices.ContainsFunc(v.sent, func(c notice.Call) bool {
		return c.Tool == tool && strings.Contains(c.Arguments, string(encode(text)))
	})
}

func questions(v *view) []string {
	return slices.DeleteFunc([]string{strings.Join(notice.Distinct(notice.Terms(v.material.Question), 8), " ")}, func(s string) bool { return s == "" })
}

func methods(v *view) []string {
	if steps := v.learn().steps; len(steps) > 2 {
		return []string{numbered(steps)}
	}
	return nil
}

// facts are the statements that users make about themselves, as they said them.
func facts(v *view) []string {
	var out []string
	for _, s := range v.sentences {
		if s.Role == "user" && !s.Question && !s.Imperative && !s.Greeting && firstPerson.MatchString(s.Raw) && len(notice.Asks([]notice.Sentence{s})) == 0 {
			out = append(out, s.Raw)
		}
	}
	return notice.Distinct(out, len(out))
}

// answer is the part of the material that says most of what is asked.
func (v *view) answer() string {
	if v.material.Question == "" {
		return v.say("nothing")
	}
	texts := slices.Clone(v.material.Memories)
	for _, skill := range v.material.Skills {
		texts = append(texts, skill.Description+"\n"+skill.Procedure)
	}
	for _, s := range v.sentences {
		if !s.Question && !s.Greeting && !strings.Contains(v.material.Question, s.Raw) {
			texts = append(texts, s.Raw)
		}
	}
	wanted, best, most := notice.Terms(v.material.Question), v.say("unknown"), 0.0
	for _, text := range texts {
		if said := notice.Share(wanted, notice.Terms(text)); said > most {
			best, most = text, said
		}
	}
	return strings.TrimSpace(best)
}
