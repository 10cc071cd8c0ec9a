package offline

import (
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
	message = map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	if calls := v.act(); len(calls) > 0 {
		message["tool_calls"] = calls
		return message, "tool_calls"
	}
	message["content"] = v.answer()
	if req.schema != nil {
		message["content"] = string(encode(fill(req.schema, v)))
	}
	return message, "stop"
}

// policies say what the material holds for a parameter, by its name: the values
// worth sending, each in a call of its own. Parameters without a policy are
// filled like properties of a schema.
var policies = map[string]func(*view) []string{
	"query": questions, "question": questions,
	"content": facts, "text": facts, "fact": facts, "memory": facts,
	"procedure": methods, "body": methods,
}

// act makes the calls that the material has something new for.
func (v *view) act() []any {
	var out []any
	for _, t := range v.tools {
		for _, arguments := range v.callsFor(t, v.must && len(out) == 0) {
			id := identify("call_", fmt.Appendf(nil, "%d %d %s", len(v.sent), len(out), arguments))
			out = append(out, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": t.Name, "arguments": arguments}})
		}
	}
	return out[:min(len(out), mostCalls)]
}

// callsFor renders the arguments of the calls to a tool that were not made yet,
// for the first of its parameters, by name, that has a policy.
func (v *view) callsFor(t tool, forced bool) []string {
	arguments, _ := fill(t.Parameters, v).(map[string]any)
	var out []string
	parameters := slices.Sorted(maps.Keys(arguments))
	if at := slices.IndexFunc(parameters, func(name string) bool { return policies[name] != nil }); at >= 0 {
		for _, value := range policies[parameters[at]](v) {
			carries := func(c notice.Call) bool {
				return c.Tool == t.Name && strings.Contains(c.Arguments, string(encode(value)))
			}
			if !slices.ContainsFunc(v.sent, carries) {
				arguments[parameters[at]] = value
				out = append(out, string(encode(arguments)))
			}
		}
	}
	if len(out) == 0 && forced {
		return []string{string(encode(arguments))}
	}
	return out
}

func questions(v *view) []string {
	return notice.Distinct([]string{strings.Join(notice.Distinct(notice.Terms(v.material.Question), 8), " ")}, 1)
}

func methods(v *view) []string {
	if steps := v.learn().steps; len(steps) >= enoughSteps {
		return []string{numbered(steps)}
	}
	return nil
}

// facts are the statements that users make about themselves, as they said them.
func facts(v *view) []string {
	var out []string
	for _, s := range v.sentences {
		told := s.Role == "user" && !s.Question && !s.Imperative && !s.Greeting
		if told && firstPerson.MatchString(s.Raw) && len(notice.Asks([]notice.Sentence{s})) == 0 {
			out = append(out, s.Raw)
		}
	}
	return notice.Distinct(out, len(out))
}

// answer is the part of the material that says most of what is asked.
func (v *view) answer() string {
	asked := v.material.Question
	if asked == "" {
		return v.say("nothing")
	}
	texts := slices.Clone(v.material.Memories)
	for _, s := range v.sentences {
		if !s.Question && !s.Greeting && !strings.Contains(asked, s.Raw) {
			texts = append(texts, s.Raw)
		}
	}
	best, most := v.say("unknown"), 0.0
	for _, text := range texts {
		if said := notice.Share(notice.Terms(asked), notice.Terms(text)); said > most {
			best, most = text, said
		}
	}
	return strings.TrimSpace(best)
}
