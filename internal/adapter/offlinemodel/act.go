package offlinemodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
)

const maxCalls, maxFacts, maxObservations = 4, 3, 5 // in one reply, for one material

// needsMore are verbs of tools that need something that a material does not show, such as the text
// to replace.
var needsMore = memoryrules.Words("needs more")

// reply returns the assistant message for a request and its finish reason.
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

// policies maps the name of a tool parameter to a function that returns its values. Each value is
// sent in its own call. Parameters without a policy are filled like properties of a schema.
var policies = map[string]func(*view) []string{
	"query": questions, "question": questions,
	"content": facts, "text": facts, "fact": facts, "memory": facts,
	"procedure": methods, "body": methods,
	"observation": observations,
	"pattern":     words,

	"memory_content": facts,
}

// act returns the tool calls for which the material has something new.
func (v *view) act() []any {
	var out []any
	for _, t := range v.tools {
		for _, arguments := range v.callsFor(t, v.must && len(out) == 0) {
			id := identify("call_", fmt.Appendf(nil, "%d %s", len(v.sent), arguments))
			v.sent = append(v.sent, memoryrules.Call{Tool: t.Name, Arguments: arguments})
			out = append(out, map[string]any{"id": id, "type": "function",
				"function": map[string]any{"name": t.Name, "arguments": arguments}})
		}
	}
	return out[:min(len(out), maxCalls)]
}

// callsFor renders the arguments of new calls to a tool. The values come from the first of its
// parameters, by name, that has a policy; values of earlier calls are skipped. An optional
// parameter without a value is omitted. If a required parameter has no value, there is no call. A
// tool that takes a list gets all values in one call. A tool about a person gets a call for each
// target.
func (v *view) callsFor(t tool, forced bool) []string {
	arguments, _ := fill(t.Parameters, v).(map[string]any)
	for list, p := range t.Parameters.Properties {
		if p.Items != nil && (p.Items.Properties["memory_content"] != nil ||
			p.Items.Properties["memory_target"] != nil) {
			items := v.callsFor(tool{t.Name, p.Items}, forced)
			arguments[list] = json.RawMessage("[" + strings.Join(items, ",") + "]")
			return []string{string(encode(arguments))}[:min(1, len(items))]
		}
	}
	required := func(name string) bool { return slices.Contains(t.Parameters.Required, name) }
	maps.DeleteFunc(arguments, func(name string, value any) bool {
		return !required(name) && policies[name] == nil && (answerers[name] == nil || value == nil || value == "")
	})
	var out []string
	parameters := slices.Sorted(maps.Keys(arguments))
	send := func(held any, by string) {
		carries := func(c memoryrules.Call) bool {
			return strings.HasPrefix(c.Tool, by) && strings.Contains(c.Arguments, string(encode(held)))
		}
		lacks := func(name string) bool {
			return required(name) && slices.Contains([]string{`""`, "[]"}, string(encode(arguments[name])))
		}
		if !slices.ContainsFunc(v.sent, carries) && !slices.ContainsFunc(parameters, lacks) {
			out = append(out, string(encode(arguments)))
		}
	}
	at := slices.IndexFunc(parameters, func(name string) bool { return policies[name] != nil })
	switch words := (memoryrules.Call{Tool: t.Name}).Words(); {
	case arguments["memory_target"] != nil:
		delete(arguments, "description")
		for _, pair := range v.targets(t, words) {
			arguments["memory_target"] = pair.Target
			if arguments["memory_type"] != nil {
				arguments["memory_type"] = pair.Type
			}
			send(arguments, t.Name)
		}
	case at >= 0 && !slices.ContainsFunc(words, func(w string) bool { return needsMore[w] }):
		name := parameters[at]
		values := policies[name]
		if arguments["name"] != nil && t.Parameters.Properties["description"] != nil {
			values = documents // a tool with a name and a description creates a document
		}
		for _, value := range values(v) {
			arguments[name] = t.Parameters.Properties[name].shape(t.Parameters, v, value, maxDepth)
			if t.Parameters.Properties["messages"] != nil {
				arguments["messages"] = v.saying(value)
			}
			send(arguments[name], "")
		}
	}
	if len(out) == 0 && forced {
		return []string{string(encode(arguments))}
	}
	return out
}

// targets returns the subjects that a tool is called for.
func (v *view) targets(t tool, words []string) []memoryrules.Pair {
	adds := func(one tool) bool {
		return slices.Contains(memoryrules.Call{Tool: one.Name}.Words(), "add") &&
			strings.Contains(string(encode(one.Parameters)), `"memory_target"`)
	}
	// such as: retrieve personal memory
	r := memoryrules.Registry{Instructions: v.system, Adds: adds(t), MayAdd: slices.ContainsFunc(v.tools, adds),
		Types: words}
	if kinds := t.Parameters.Properties["memory_type"]; kinds != nil {
		r.Types = memoryrules.Each(kinds.Enum, func(one any) string { return fmt.Sprint(one) })
	}
	return memoryrules.Targets(r, v.material)
}

func questions(v *view) []string {
	return memoryrules.Distinct([]string{strings.Join(memoryrules.KeyWords(v.material.Question, 8, false), " ")}, 1)
}

// words returns the key words of a question, which are searched one by one.
func words(v *view) []string { return memoryrules.KeyWords(v.material.Question, 2, false) }

// asked returns the questions and orders in the message to reply to.
func (v *view) asked() string {
	wanted := v.pick(func(s memoryrules.Sentence) bool {
		asks := s.Question || s.Imperative || memoryrules.Asking.MatchString(s.Raw)
		return asks && s.Role == "user" && s.Index > v.from && !memoryrules.ToRemember.MatchString(s.Raw)
	})
	return strings.Join(memoryrules.Each(wanted, func(s memoryrules.Sentence) string { return s.Raw }), "\n")
}

func methods(v *view) []string {
	if steps := v.learn().steps; len(steps) >= enoughSteps {
		return []string{rendered(steps)}
	}
	return nil
}

// documents returns the one method that a transcript shows through its tool calls. It is empty if a
// skill for it exists, or if the method used only tools that are offered here: their descriptions
// explain it. A method is not complete while its conversation continues.
func documents(v *view) []string {
	offered := memoryrules.Each(v.tools, func(t tool) string { return t.Name })
	other := slices.ContainsFunc(v.calls, func(c memoryrules.Call) bool { return !slices.Contains(offered, c.Tool) })
	if len(methods(v)) == 0 || !other || v.live || v.learn().match.Handle != "" {
		return nil
	}
	return []string{strings.TrimSpace(section("When to Use", "", []string{v.description()}) +
		section("Procedure", "", methods(v)) +
		section("Pitfalls", "- ", append(v.told(), v.say("outlook"))) +
		section("Verification", "- ", []string{v.say("verify", v.main.Tool)}))}
}

// facts returns the facts in the current message that no review has seen.
func facts(v *view) []string {
	return memoryrules.Facts(v.pick(func(s memoryrules.Sentence) bool {
		return s.Index > v.from && !v.message(s.Index).Reviewed
	}), maxFacts)
}

// observations returns the most informative sentences, in their original wording and order.
func observations(v *view) []string {
	people := v.pick(func(s memoryrules.Sentence) bool {
		return s.Role == "user" || s.Role == "assistant" && v.message(s.Index).Name != ""
	})
	return memoryrules.Distinct(memoryrules.Each(memoryrules.Telling(people, maxObservations),
		func(s memoryrules.Sentence) string {
			return v.say("said", cmp.Or(v.message(s.Index).Name, v.say("person")), s.Raw)
		}), maxObservations)
}

// saying returns the indices of the messages that a text was taken from, or of all messages if it
// was composed from several.
func (v *view) saying(text string) []int {
	text = strings.ToLower(strings.TrimRight(text, ".。"))
	from := v.pick(func(s memoryrules.Sentence) bool {
		raw := strings.ToLower(strings.TrimRight(s.Raw, ".。"))
		return strings.Contains(raw, text) || len(memoryrules.Terms(raw)) > 1 && strings.Contains(text, raw)
	})
	out := memoryrules.Each(from, func(s memoryrules.Sentence) int { return s.Index })
	if len(out) == 0 {
		out = memoryrules.Each(v.messages, func(m prompt.Message) int { return m.Index })
	}
	return slices.Compact(out)
}

// message returns the message with an index.
func (v *view) message(index int) (m prompt.Message) {
	if at := slices.IndexFunc(v.messages, func(m prompt.Message) bool { return m.Index == index }); at >= 0 {
		m = v.messages[at]
	}
	return m
}

// answer returns the part of the material that best matches the question and adds something to it. Instructions are
// never part of it.
func (v *view) answer() string {
	asked := v.material.Question
	if asked == "" {
		return v.closing()
	}
	var known []memoryrules.Sentence
	for _, line := range slices.Concat(slices.Concat(memoryrules.Each(v.results, dataOf)...),
		slices.Concat(memoryrules.Each(v.material.Memories, memoryrules.Texts)...)) {
		known = append(known, memoryrules.Sentence{Raw: line})
	}
	best, most := v.say("unknown"), 0.0
	adds := func(w string) bool { return !strings.Contains(strings.ToLower(asked), w) }
	for _, s := range append(known, v.sentences...) {
		said := memoryrules.Share(memoryrules.Terms(asked), memoryrules.Terms(s.Raw))
		fits := !s.Question && !s.Greeting && !instructs(s.Role)
		if fits && said > most && slices.ContainsFunc(strings.Fields(strings.ToLower(s.Raw)), adds) {
			best, most = s.Raw, said
		}
	}
	return strings.TrimSpace(best)
}

// advice are the members of a tool's result that are for the model.
var advice = []string{"hint", "next", "warnings", "error"}

// dataOf returns the lines of a result that are data. A failed call has none.
func dataOf(result prompt.Message) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(result.Content), &members) != nil {
		return memoryrules.Texts(result.Content)
	}
	if failed(result) {
		return nil
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return slices.Contains(advice, name) })
	return memoryrules.Texts(string(encode(members)))
}

// failed reports whether a call has failed. Tools of Cairn say so; the text of others is read.
func failed(result prompt.Message) bool {
	var envelope struct{ OK *bool }
	if json.Unmarshal([]byte(result.Content), &envelope) == nil && envelope.OK != nil {
		return !*envelope.OK
	}
	return memoryrules.Fails(result.Content)
}

// closing reports the results of the calls if no question was asked. The text of an error is for the model.
func (v *view) closing() string {
	done := slices.DeleteFunc(slices.Clone(v.results), func(m prompt.Message) bool { return m.Index <= v.from })
	switch {
	case slices.ContainsFunc(done, failed):
		return v.say("failed")
	case len(done) > 0:
		return cmp.Or(v.list("noted", facts(v)), v.say("done"))
	case v.live:
		return v.say("ready")
	}
	return v.say("nothing")
}
