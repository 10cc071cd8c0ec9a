package offline

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const mostCalls, maxFacts, maxObservations = 4, 3, 5 // in one reply, of one material

const telling = 4 // content words that make a sentence worth noting

var (
	needsMore = notice.Words("needs more") // verbs of tools that need what a material does not show, such as what to replace

	firstPerson = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|my|we|our)\b|我`)
	passing     = regexp.MustCompile(`(?i)\b(?:` + strings.Join(slices.Sorted(maps.Keys(notice.Words("passing"))), "|") + `|i (?:want|need|think|see|guess|get|got|tried|can't|cannot)|i'd like|i'll)\b|今天|明天|昨天|现在|刚才|目前|我想|我要|我需要`)
	asking      = regexp.MustCompile(`(?i)^(?:what|where|which|who|whose|when|why|how|do you|tell me|remind me)\b|什么|哪|谁|多少|怎么|如何|告诉我`)
	toRemember  = regexp.MustCompile(`(?i)^(?:(?:and|also|ok|okay|please|kindly|can you|could you|would you),? )*(?:(?:remember|memori[sz]e|keep in mind|don't forget)(?: that\b|[:,])?|(?:note|save|store|write)(?: down)?(?: that\b|:)) *` +
		`|^(?:请|麻烦|帮我|你|一定|要)*(?:记住|记下来?|记得|记一下|牢记|别忘了)[，,：:]?`)
)

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
	"observation": observations,
	"pattern":     words,
}

// act makes the calls that the material has something new for.
func (v *view) act() []any {
	var out []any
	for _, t := range v.tools {
		for _, arguments := range v.callsFor(t, v.must && len(out) == 0) {
			id := identify("call_", fmt.Appendf(nil, "%d %s", len(v.sent), arguments))
			v.sent = append(v.sent, notice.Call{Tool: t.Name, Arguments: arguments})
			out = append(out, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": t.Name, "arguments": arguments}})
		}
	}
	return out[:min(len(out), mostCalls)]
}

// callsFor renders the arguments of the calls to a tool that hold what no call
// held yet, for the first of its parameters, by name, that has a policy. What
// may be left out is left out when nothing is known for it; when that must not
// be left out, there is no call.
func (v *view) callsFor(t tool, forced bool) []string {
	arguments, _ := fill(t.Parameters, v).(map[string]any)
	required := func(name string) bool { return slices.Contains(t.Parameters.Required, name) }
	maps.DeleteFunc(arguments, func(name string, value any) bool {
		return !required(name) && policies[name] == nil && (answerers[name] == nil || value == nil || value == "")
	})
	var out []string
	parameters := slices.Sorted(maps.Keys(arguments))
	at := slices.IndexFunc(parameters, func(name string) bool { return policies[name] != nil })
	if at >= 0 && !slices.ContainsFunc(notice.Call{Tool: t.Name}.Words(), func(w string) bool { return needsMore[w] }) {
		name := parameters[at]
		values := policies[name]
		if arguments["name"] != nil && t.Parameters.Properties["description"] != nil {
			values = documents // what has a name and a description is one
		}
		for _, value := range values(v) {
			arguments[name] = t.Parameters.Properties[name].shape(t.Parameters, v, value, maxDepth)
			if t.Parameters.Properties["messages"] != nil {
				arguments["messages"] = v.saying(value)
			}
			carries := func(c notice.Call) bool { return strings.Contains(c.Arguments, string(encode(arguments[name]))) }
			lacks := func(name string) bool { return required(name) && arguments[name] == "" }
			if !slices.ContainsFunc(v.sent, carries) && !slices.ContainsFunc(parameters, lacks) {
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
	return notice.Distinct([]string{strings.Join(notice.KeyWords(v.material.Question, 8, false), " ")}, 1)
}

// words are those of a question that are looked for one by one.
func words(v *view) []string { return notice.KeyWords(v.material.Question, 2, false) }

// asked are the questions and orders in what is being answered.
func (v *view) asked() string {
	wanted := v.pick(func(s notice.Sentence) bool {
		asks := s.Question || s.Imperative || asking.MatchString(s.Raw)
		return asks && s.Role == "user" && s.Index > v.from && !toRemember.MatchString(s.Raw)
	})
	return strings.Join(notice.Each(wanted, func(s notice.Sentence) string { return s.Raw }), "\n")
}

func methods(v *view) []string {
	if steps := v.learn().steps; len(steps) >= enoughSteps {
		return []string{numbered(steps)}
	}
	return nil
}

// documents are the one method that a transcript shows with its tools, unless
// there is a skill for it, or it took no other tools than those that are offered
// here: their own descriptions teach it. While a conversation goes on its method is
// not over.
func documents(v *view) []string {
	s := v.learn()
	other := slices.ContainsFunc(v.calls, func(c notice.Call) bool {
		return !slices.ContainsFunc(v.tools, func(t tool) bool { return t.Name == c.Tool })
	})
	if len(methods(v)) == 0 || !other || v.live || s.match.Handle != "" {
		return nil
	}
	return []string{strings.TrimSpace(section("When to Use", "", []string{v.description()}) + section("Procedure", "", methods(v)) +
		section("Pitfalls", "- ", append(v.lessons(), v.say("outlook"))) + section("Verification", "- ", []string{v.say("verify", v.main.Tool)}))}
}

// facts are what users say of themselves that will still hold tomorrow, as they
// said it: first what they ask to remember, then what they always want.
func facts(v *view) []string {
	var out, wished, told []string
	for _, s := range v.sentences {
		statement := toRemember.ReplaceAllString(s.Raw, "")
		switch {
		case s.Role != "user" || s.Index <= v.from || s.Greeting || v.message(s.Index).Reviewed:
		case statement != s.Raw:
			out = append(out, notice.Capital(strings.TrimRight(statement, "?？ ")))
		case s.Question || asking.MatchString(s.Raw):
		case s.Wish:
			wished = append(wished, s.Raw)
		case !s.Imperative && firstPerson.MatchString(s.Raw) && !passing.MatchString(s.Raw) && len(notice.Asks([]notice.Sentence{s})) == 0:
			told = append(told, s.Raw)
		}
	}
	return notice.Distinct(slices.Concat(out, wished, told), maxFacts)
}

// observations are the sentences that tell most of what happened, in the words
// and the order in which people said them.
func observations(v *view) []string {
	told := v.pick(func(s notice.Sentence) bool {
		person := s.Role == "user" || s.Role == "assistant" && v.message(s.Index).Name != ""
		return person && !s.Greeting && !s.Question && !asking.MatchString(s.Raw) && len(notice.Terms(s.Raw)) >= telling
	})
	ranked := slices.Clone(told)
	slices.SortStableFunc(ranked, func(a, b notice.Sentence) int { return len(notice.Terms(b.Raw)) - len(notice.Terms(a.Raw)) })
	ranked = ranked[:min(maxObservations, len(ranked))]
	told = slices.DeleteFunc(told, func(s notice.Sentence) bool { return !slices.Contains(ranked, s) })
	return notice.Distinct(notice.Each(told, func(s notice.Sentence) string {
		return v.say("said", cmp.Or(v.message(s.Index).Name, v.say("person")), s.Raw)
	}), maxObservations)
}

// saying are the messages that a text was taken from, all when it was put
// together of many.
func (v *view) saying(text string) []int {
	text = strings.ToLower(strings.TrimRight(text, ".。"))
	from := v.pick(func(s notice.Sentence) bool {
		raw := strings.ToLower(strings.TrimRight(s.Raw, ".。"))
		return strings.Contains(raw, text) || len(notice.Terms(raw)) > 1 && strings.Contains(text, raw)
	})
	out := notice.Each(from, func(s notice.Sentence) int { return s.Index })
	if len(out) == 0 {
		out = notice.Each(v.messages, func(m prompt.Message) int { return m.Index })
	}
	return slices.Compact(out)
}

// message is the one of an index.
func (v *view) message(index int) (m prompt.Message) {
	if at := slices.IndexFunc(v.messages, func(m prompt.Message) bool { return m.Index == index }); at >= 0 {
		m = v.messages[at]
	}
	return m
}

// answer is the part of the material that says most of what is asked and adds
// something to it; instructions have to say half of it.
func (v *view) answer() string {
	asked := v.material.Question
	if asked == "" {
		return v.closing()
	}
	var known []notice.Sentence
	for _, text := range append(notice.Each(v.results, func(m prompt.Message) string { return m.Content }), v.material.Memories...) {
		known = append(known, notice.Each(notice.Texts(text), func(line string) notice.Sentence { return notice.Sentence{Raw: line} })...)
	}
	best, most := v.say("unknown"), 0.0
	adds := func(w string) bool { return !strings.Contains(strings.ToLower(asked), w) }
	for _, s := range append(known, v.sentences...) {
		said := notice.Share(notice.Terms(asked), notice.Terms(s.Raw))
		fits := !s.Question && !s.Greeting && (s.Role != "system" || said >= 0.5)
		if fits && said > most && slices.ContainsFunc(strings.Fields(strings.ToLower(s.Raw)), adds) {
			best, most = s.Raw, said
		}
	}
	return strings.TrimSpace(best)
}

// closing says what came of the calls when nothing was asked.
func (v *view) closing() string {
	done := slices.DeleteFunc(slices.Clone(v.results), func(m prompt.Message) bool { return m.Index <= v.from })
	failed := slices.IndexFunc(done, func(m prompt.Message) bool { return notice.Fails(m.Content) })
	switch {
	case failed >= 0:
		return v.say("failed", strings.Join(notice.Texts(done[failed].Content), " "))
	case len(done) > 0:
		return cmp.Or(v.list("noted", facts(v)), v.say("done"))
	case v.live:
		return v.say("ready")
	}
	return v.say("nothing")
}
