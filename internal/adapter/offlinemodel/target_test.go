package offlinemodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// longTermTools have the parameters that tools of long-term memory have, with
// several items in a call and with one.
func longTermTools(multiple bool, names ...string) (out []llm.Tool) {
	pair := `"memory_type":{"type":"string","enum":["identity","personal","procedural","tool"]},` +
		`"memory_target":{"type":"string","minLength":1}`
	one := map[string][2]string{
		"add_meta_memory": {"meta_memories",
			`{"type":"object","required":["memory_type","memory_target"],"properties":{` + pair +
				`,"description":{"type":"string"}}}`},
		"hands_off": {"memory_tasks",
			`{"type":"object","required":["memory_type","memory_target"],"properties":{` + pair + `}}`},
		"add_memory": {"memories", `{"type":"object","required":["memory_content"],` +
			`"properties":{"memory_content":{"type":"string"},"metadata":{"type":"object"}}}`},
		"update_memory": {"memories", `{"type":"object","required":["memory_id","memory_content"],` +
			`"properties":{"memory_id":{"type":"string"},"memory_content":{"type":"string"}}}`},
		"vector_retrieve_memory": {"query_items",
			`{"type":"object","required":["memory_type","memory_target","query"],"properties":{` + pair +
				`,"query":{"type":"string"},"time_filter":{"type":"string"}}}`},
	}
	for _, name := range names {
		schema := one[name][1]
		if multiple {
			schema = fmt.Sprintf(`{"type":"object","required":[%q],"properties":{%q:{"type":"array","minItems":1,`+
				`"items":%s}}}`, one[name][0], one[name][0], schema)
		}
		out = append(out, offered(name, schema))
	}
	return append(out, offered("add_summary_memory", `{"type":"object","required":["summary_memory"],`+
		`"properties":{"summary_memory":{"type":"string","minLength":1}}}`),
		offered("read_history_memory", `{"type":"object","required":["memory_ids"],`+
			`"properties":{"memory_ids":{"type":"array","minItems":1,"items":{"type":"string"}},`+
			`"query":{"type":"string"}}}`))
}

// given lists one property of the calls of a tool, in the order of the calls.
func given(calls []made, tool, property string) (out []string) {
	for _, c := range calls {
		if c.tool != tool {
			continue
		}
		items := []any{c.arguments}
		for _, v := range c.arguments {
			if list, ok := v.([]any); ok {
				items = list
			}
		}
		for _, item := range items {
			out = append(out, fmt.Sprint(item.(map[string]any)[property]))
		}
	}
	return out
}

func session(t *testing.T, system string, messages ...prompt.Message) llm.Request {
	t.Helper()
	text, err := prompt.User(prompt.Material{Messages: numbering(messages...)})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Request{System: system, Messages: llm.User(text)}
}

// A plain statement about oneself is saved for its target.
func TestWhatIsPlainlySaidIsAddedToATarget(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][]string{
		"I like green tea.":                     {"I like green tea."},
		"My name is Vera and I live in Porto.":  {"My name is Vera and I live in Porto."},
		"Hello! I live in Bergen. How are you?": {"I live in Bergen."},
		"I like to read old books. I am allergic to nuts.": {"I like to read old books.",
			"I am allergic to nuts."},
		"I work as a nurse, and my sister keeps bees.":           {"I work as a nurse, and my sister keeps bees."},
		"我叫李明。我住在成都。":                                            {"我叫李明。", "我住在成都。"},
		"Could you book a table? I need it by noon. Thanks!":     nil,
		"I'd like to cancel my order. I want to change my seat.": nil,
		"What do I like?": nil,
	} {
		for _, multiple := range []bool{true, false} {
			calls := loop(t, session(t, "You look after one target.", user(said), assistant("I like coffee.")),
				longTermTools(multiple, "update_memory", "add_memory"))
			if got := given(calls, "add_memory", "memory_content"); !slices.Equal(got, want) ||
				len(calls) != len(got) && (!multiple || len(calls) != min(1, len(want))) {
				t.Errorf("%q: %+v, want %q", said, calls, want)
			}
		}
	}
}

// A session is handed to the specialist of its target, and to no other.
func TestASessionIsHandedToWhomItIsAbout(t *testing.T) {
	t.Parallel()
	lines := func(of ...string) string {
		out := "Look after it.\n\n"
		for _, one := range of {
			out += "- " + one + ": what there is\n"
		}
		return out + "- tool(tool_guidelines): how tools are used\n- identity(self): who the assistant is\n"
	}
	named := user("I like tea.")
	named.Name = "Ines"
	other := user("I like rum.")
	other.Name = "Bo"
	for what, c := range map[string]struct {
		system string
		said   []prompt.Message
		known  bool // the caller gives the target, so none can be registered
		meta   []string
		handed []string
	}{
		"the one that there is": {lines("personal(u-17)"), []prompt.Message{user("My name is Vera and I like tea.")},
			true, nil, []string{"u-17"}},
		"of an agent": {lines("procedural(cook)"), []prompt.Message{user("I like tea.")}, true, nil,
			[]string{"cook"}},
		"who says so": {lines("personal(bo)", "personal(vera)", "procedural(deploy)"),
			[]prompt.Message{user("Hi, I'm Vera, I like tea.")}, false, nil, []string{"vera"}},
		"who is not known yet": {lines("personal(bo)"), []prompt.Message{user("Hello, I am Vera. I like tea.")},
			false, []string{"Vera"}, nil},
		"the speaker's name": {lines("personal(bo)", "personal(ines)"), []prompt.Message{named}, false, nil,
			[]string{"ines"}},
		"no speaker is named": {lines("personal(bo)", "personal(vera)"), []prompt.Message{user("I like tea.")},
			false, nil, nil},
		"what is no name": {lines(), []prompt.Message{user("I am waiting. I'm Late for it all.")}, false, nil,
			nil},
		"two who speak": {lines("personal(bo)", "personal(ines)"), []prompt.Message{named, other}, false,
			nil, nil},
		"an attempt of an agent": {lines(),
			[]prompt.Message{{Role: "user", Name: "trajectory", Content: "Trajectory 1"}, user("I like tea.")}, false,
			nil, nil},
		"a name in another script": {lines(), []prompt.Message{user("我叫李明，我喜欢喝茶。")}, false, []string{"李明"}, nil},
	} {
		for _, multiple := range []bool{true, false} {
			names := []string{"add_meta_memory", "hands_off"}
			calls := loop(t, session(t, c.system, c.said...),
				longTermTools(multiple, names[map[bool]int{true: 1}[c.known]:]...))
			if meta := given(calls, "add_meta_memory", "memory_target"); !slices.Equal(meta, c.meta) {
				t.Errorf("%s: registered %q, want %q", what, meta, c.meta)
			}
			if handed := given(calls, "hands_off", "memory_target"); !slices.Equal(handed, c.handed) {
				t.Errorf("%s: handed to %q, want %q", what, handed, c.handed)
			}
		}
	}
	// A registered target gets a hand-off as soon as it is listed.
	r := session(t, lines("personal(Vera)"), user("Hello, I am Vera. I like tea."))
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant,
		Calls: []llm.ToolCall{{ID: "1", Name: "add_meta_memory",
			Arguments: `{"meta_memories":[{"memory_target":"Vera","memory_type":"personal"}]}`}}},
		llm.Message{Role: llm.RoleTool, CallID: "1", Content: `{"ok":true}`})
	if handed := given(loop(t, r, longTermTools(true, "add_meta_memory", "hands_off")), "hands_off",
		"memory_type"); !slices.Equal(handed, []string{"personal"}) {
		t.Errorf("handed to %q", handed)
	}
}

func TestAQuestionIsLookedUpWithEachTarget(t *testing.T) {
	t.Parallel()
	text, err := prompt.User(prompt.Material{Question: "Where does Vera live?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, multiple := range []bool{true, false} {
		calls := loop(t, llm.Request{System: "- personal(Vera): facts\n- procedural(deploy): steps\n",
			Messages: llm.User(text)}, longTermTools(multiple, "vector_retrieve_memory"))
		if targets, queries := given(calls, "vector_retrieve_memory", "memory_target"),
			given(calls, "vector_retrieve_memory", "query"); !slices.Equal(targets, []string{"Vera", "deploy"}) ||
			!strings.Contains(queries[1], "vera") || len(given(calls, "read_history_memory", "query")) > 0 {
			raw, _ := json.Marshal(calls)
			t.Errorf("called %+v %s", calls, raw)
		}
	}
}
