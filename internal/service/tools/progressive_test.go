package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/pgtest"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// progressive is the tools of progressive memory over a fresh database.
type progressive struct {
	t     *testing.T
	store *store.Store
	long  *memories.LongTermService
	ws    int64
	n     int
}

func setupProgressive(t *testing.T) *progressive {
	t.Helper()
	s, err := store.Open(t.Context(), pgtest.Database(t), store.Options{MaxConns: 6})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := s.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	p := &progressive{t: t, store: s, long: &memories.LongTermService{
		Ports: memories.Ports{Store: s, Embedder: embedder, Space: space,
			Finder: search.Finder{Index: s.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}}
	p.enter("a")
	return p
}

// enter goes to a workspace.
func (p *progressive) enter(name string) {
	p.t.Helper()
	ws, err := p.store.Workspace(p.t.Context(), name, true)
	testkit.Must(p.t, err)
	p.ws = ws.ID
}

// registry is all thirteen tools under some options.
func (p *progressive) registry(o tools.Options) *tools.Registry {
	p.t.Helper()
	made, err := tools.Profile{Options: o, Names: tools.ProgressiveNames}.Tools(p.long)
	testkit.Must(p.t, err)
	r, err := tools.NewRegistry(made...)
	testkit.Must(p.t, err)
	return r
}

// all are options with everything that retrieval and handing off can do.
func all() tools.Options {
	return tools.Options{Multiple: true, Metadata: true, TypeTarget: true, SummaryMemory: true, ToolMemory: true,
		IdentityMemory: true}
}

// call is a specialist's for alice.
func (p *progressive) call(r *tools.Registry, name, arguments string, change ...func(*agent.Actor)) (tools.Result,
	string) {
	p.t.Helper()
	p.n++
	a := agent.Actor{Workspace: p.ws, Origin: agent.OriginReflection, Op: fmt.Sprintf("test/%d", p.n),
		Subject: agent.MemoryScope{Type: "personal", Target: "Alice", Author: "m@1"}}
	for _, c := range change {
		c(&a)
	}
	out, err := r.Call(p.t.Context(), a, name, json.RawMessage(arguments))
	testkit.Must(p.t, err)
	var text struct {
		Text string `json:"text"`
	}
	if out.OK {
		testkit.Must(p.t, json.Unmarshal(out.JSON, &text))
		return out, text.Text
	}
	return out, string(out.JSON)
}

func about(t memory.Type, target string) func(*agent.Actor) {
	return func(a *agent.Actor) { a.Subject.Type, a.Subject.Target = string(t), target }
}

// ids are the memories of a result, in order.
func ids(t *testing.T, r tools.Result) (out []string) {
	t.Helper()
	var result struct {
		Items []memories.ItemResult `json:"items"`
	}
	testkit.Must(t, json.Unmarshal(r.JSON, &result))
	for _, i := range result.Items {
		out = append(out, i.ID)
	}
	return out
}

func TestASessionGoesThroughAllTools(t *testing.T) {
	t.Parallel()
	p := setupProgressive(t)
	r := p.registry(all())
	kept, _ := p.call(r, "add_history_memory", `{"messages":[{"role":"system","content":"Be `+
		`brief."},{"role":"user","content":"I moved to `+
		`Kyoto","ts":"2026-03-01T10:00:00Z"},{"role":"assistant","content":"Noted."}]}`)
	var h struct {
		History memory.History `json:"history"`
	}
	testkit.Must(t, json.Unmarshal(kept.JSON, &h))
	session := func(a *agent.Actor) { a.Subject.History = h.History.ID }
	if _, text := p.call(r, "add_meta_memory", `{"meta_memories":[{"memory_type":"personal","memory_target":"Alice"}`+
		`,{"memory_type":"procedural","memory_target":"deploy"}]}`); text != "2 added\nadded: personal(Alice)\n"+
		"added: procedural(deploy)" {
		t.Errorf("registered %q", text)
	}
	if _, text := p.call(r, "add_meta_memory",
		`{"meta_memories":[{"memory_type":"personal","memory_target":"alice"}]}`); !strings.HasPrefix(text,
		"nothing new") {
		t.Errorf("registered again %q", text)
	}
	if _, text := p.call(r, "read_meta_memory", `{}`); !strings.HasPrefix(text, "- personal(Alice): ") ||
		!strings.Contains(text, "\n- tool(tool_guidelines): ") || strings.Count(text, "\n") != 3 {
		t.Errorf("lines %q", text)
	}
	added, _ := p.call(r, "add_memory", `{"memories":[{"memory_content":"Lives in `+
		`Kyoto","metadata":{"since":"2026-03"}},{"memory_content":"Likes\ngreen tea"}]}`, session)
	id := ids(t, added)[0]
	_, digest := p.call(r, "add_summary_memory", `{"summary_memory":"Alice told that she lives in Kyoto now"}`, session)
	if !strings.HasPrefix(digest, "added memory_id=") {
		t.Errorf("summary %q", digest)
	}
	_, found := p.call(r, "vector_retrieve_memory", `{"query_items":[{"memory_type":"personal",`+
		`"memory_target":"Alice","query":"lives in `+
		`Kyoto"},{"memory_type":"personal","memory_target":"Alice","query":"green tea"}]}`)
	lines := strings.Split(found, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "memory_id="+id+" [") ||
		!strings.HasSuffix(lines[0], "] (personal/Alice) Lives in Kyoto ref_memory_id="+h.History.ID) ||
		!strings.Contains(found, `Likes\ngreen tea`) || !strings.Contains(found, "(summary/) Alice told") {
		t.Errorf("found %q", found)
	}
	if _, text := p.call(r, "read_history_memory", `{"memory_ids":["`+id+`"]}`); text != "id: "+h.History.ID+
		"\n[2026-03-01T10:00Z] user:\nI moved to Kyoto\nassistant:\nNoted.\n" {
		t.Errorf("transcript %q", text)
	}
	if _, text := p.call(r, "update_memory",
		`{"memories":[{"memory_id":"`+id+
			`","memory_content":"Lives in Nara","metadata":{"since":null}}]}`); text != "updated memory_id="+id {
		t.Errorf("updated %q", text)
	}
	if _, text := p.call(r, "delete_memory",
		`{"memory_ids":["`+id+`","`+id+`","0000000000000000"]}`); !strings.HasPrefix(text,
		"item 0: deleted memory_id="+id+"\nitem 2: error: not_found: ") {
		t.Errorf("deleted %q", text)
	}
	if _, text := p.call(r, "update_identity_memory",
		`{"identity_memory":"A kind guide"}`); text != "updated, version 1" {
		t.Errorf("identity %q", text)
	}
	if _, text := p.call(r, "read_identity_memory", `{}`); text != "identity memory:\nA kind guide" {
		t.Errorf("identity %q", text)
	}
	tasks, _ := p.call(r, "hands_off", `{"memory_tasks":[{"memory_type":"personal","memory_target":"ALICE"},`+
		`{"memory_type":"personal","memory_target":"alice"},{"memory_type":"tool","memory_target":"web_search"},`+
		`{"memory_type":"personal","memory_target":"bob"},{"memory_type":"summary","memory_target":"x"}]}`)
	var handed memories.HandedOff
	testkit.Must(t, json.Unmarshal(tasks.JSON, &handed))
	if fmt.Sprint(handed.Tasks) != "[{personal Alice} {tool tool_guidelines}]" || len(handed.Rejected) != 2 ||
		handed.Rejected[0].Code != fault.NotFound || handed.Rejected[1].Code != fault.InvalidArgument {
		t.Errorf("handed off %+v", handed)
	}
	if _, text := p.call(r, "think_tool", `{"reflection":"done"}`); strings.Contains(text, "done") {
		t.Errorf("thought %q", text)
	}
	o := all()
	o.OutputReflection = true
	if _, text := p.call(p.registry(o), "think_tool", `{"reflection":"done"}`); text != "done" {
		t.Errorf("thought aloud %q", text)
	}
}

// A10, as far as the tools are concerned.
func TestWhatModelsGetWrongComesBackWithACode(t *testing.T) {
	t.Parallel()
	p := setupProgressive(t)
	r := p.registry(all())
	one := all()
	one.Multiple, one.Thinking = false, true
	single := p.registry(one)
	kept, _ := p.call(r, "add_history_memory", `{"messages":[{"role":"user","content":"hello"}]}`)
	var h struct {
		History memory.History `json:"history"`
	}
	testkit.Must(t, json.Unmarshal(kept.JSON, &h))
	added, _ := p.call(r, "add_memory", `{"memories":[{"memory_content":"Likes tea"}]}`)
	mine := ids(t, added)[0]
	added, _ = p.call(r, "add_memory", `{"memories":[{"memory_content":"Likes tea"}]}`, about(memory.Personal, "bob"))
	bobs := ids(t, added)[0]
	p.enter("b")
	added, _ = p.call(r, "add_memory", `{"memories":[{"memory_content":"Likes milk"}]}`)
	foreign := ids(t, added)[0]
	p.enter("a")
	for _, c := range []struct {
		registry        *tools.Registry
		name, arguments string
		code            fault.Code
	}{
		{r, "forget_everything", `{}`, fault.UnknownTool},
		{r, "add_memory", `{"memories":[{"memory_content":"Likes`, fault.InvalidArgument},
		{r, "add_memory", `null`, fault.InvalidArgument},
		{r, "add_memory", `[]`, fault.InvalidArgument},
		{r, "add_memory", `{}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":[]}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":"x"}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":[{"memory_content":""}]}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":["x"]}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":[{"memory_content":"x","when_to_use":"y"}]}`, fault.InvalidArgument},
		{r, "add_memory", `{"memory_content":"single in multiple"}`, fault.InvalidArgument},
		{r, "add_memory", `{"memories":[{"memory_content":"` + strings.Repeat("x", memory.LongTermBytes+1) + `"}]}`,
			fault.TooLarge},
		{r, "add_memory", `{"memories":[{"memory_content":"x","metadata":{"y":"` +
			strings.Repeat("x", memory.MetadataBytes) + `"}}]}`, fault.TooLarge},
		{single, "add_memory", `{"memory_content":"without thinking"}`, fault.InvalidArgument},
		{single, "add_memory", `{"thinking":"t","memories":[{"memory_content":"x"}]}`, fault.InvalidArgument},
		{r, "update_memory", `{"memories":[{"memory_id":"` + bobs + `","memory_content":"x"}]}`, fault.OutOfScope},
		{r, "update_memory", `{"memories":[{"memory_id":"` + foreign + `","memory_content":"x"}]}`, fault.NotFound},
		{r, "delete_memory", `{"memory_ids":[]}`, fault.InvalidArgument},
		{r, "delete_memory", `{"memory_ids":[7]}`, fault.InvalidArgument},
		{r, "delete_memory", `{"memory_ids":["` + foreign + `"]}`, fault.NotFound},
		{r, "delete_memory", `{"memory_ids":["` + bobs + `"]}`, fault.OutOfScope},
		{r, "delete_memory", `{"memory_ids":["` + h.History.ID + `"]}`, fault.OutOfScope},
		{r, "vector_retrieve_memory", `{"query_items":[{"memory_type":"history","memory_target":"alice","query":"x"}]}`,
			fault.InvalidArgument},
		{r, "vector_retrieve_memory", `{"query_items":[{"query":"x"}]}`, fault.InvalidArgument},
		{r, "vector_retrieve_memory", `{"query_items":[{"memory_type":"personal","memory_target":"alice",` +
			`"query":"x","time_filter":"20261399"}]}`, fault.InvalidArgument},
		{r, "add_meta_memory", `{"meta_memories":[{"memory_type":"tool","memory_target":"x"}]}`, fault.InvalidArgument},
		{r, "add_meta_memory", `{"meta_memories":[{"memory_type":"personal","memory_target":" "}]}`,
			fault.InvalidArgument},
		{r, "add_history_memory", `{"messages":[]}`, fault.InvalidArgument},
		{r, "add_history_memory", `{"messages":[{"role":"system","content":"x"}]}`, fault.InvalidArgument},
		{r, "add_history_memory", `{"messages":[{"role":"wizard","content":"x"}]}`, fault.InvalidArgument},
		{r, "read_history_memory", `{"memory_ids":["` + foreign + `"]}`, fault.NotFound},
		{r, "read_history_memory", `{"memory_ids":["a","b","c","d"]}`, fault.InvalidArgument},
		{r, "update_identity_memory", `{"identity_memory":""}`, fault.InvalidArgument},
		{r, "update_identity_memory", `{"identity_memory":"x","expected_version":3}`, fault.VersionConflict},
		{r, "hands_off", `{"memory_tasks":[{"memory_type":"personal","memory_target":"unknown"}]}`, fault.NotFound},
		{r, "think_tool", `{}`, fault.InvalidArgument},
	} {
		got, text := p.call(c.registry, c.name, c.arguments)
		if got.OK || got.Code != c.code {
			t.Errorf("%s %.90s: %.200s, want %s", c.name, c.arguments, text, c.code)
		}
	}
	// Valid items are processed, and invalid ones are reported with their index.
	if _, text := p.call(r, "add_memory", `{"memories":[{"memory_content":""},{"memory_content":"Plays `+
		`chess"},7,{"memory_content":"Likes tea"}]}`); !strings.HasPrefix(text, "item 0: error: invalid_argument: ") ||
		!strings.Contains(text, "\nitem 1: added memory_id=") ||
		!strings.Contains(text, "\nitem 2: error: invalid_argument: ") ||
		!strings.HasSuffix(text, "\nitem 3: already_exists memory_id="+mine) {
		t.Errorf("items %q", text)
	}
	if got, text := p.call(single, "add_memory", `{"thinking":"why not","memory_content":"Likes `+
		`cocoa","metadata":{"content":"not a field","memory_type":"tool"}}`); !got.OK ||
		!strings.HasPrefix(text, "added") {
		t.Errorf("single: %s", text)
	}
}

// A11: no argument of a model gives access outside its workspace or target.
func TestWorkspacesAndTargetsAreKeptApart(t *testing.T) {
	t.Parallel()
	p := setupProgressive(t)
	o := all()
	r := p.registry(o)
	o.TypeTarget = false
	scoped := p.registry(o)
	names := []string{"a-b", "a_b", "A B", "../x", "'; drop"}
	for i, name := range names {
		p.enter(name)
		for _, target := range []string{"alice", "bob"} {
			got, text := p.call(r, "add_memory", fmt.Sprintf(`{"workspace_id":%q,`+
				`"memories":[{"memory_content":"Likes green `+
				`tea","memory_target":"carol","author":"me"},{"memory_content":"Has locker %d","workspace_id":%q}]}`,
				names[0], i, names[0]), about(memory.Personal, target))
			if !got.OK || strings.Count(text, ": added ") != 2 {
				t.Fatalf("%s, %s: %s", name, target, text)
			}
		}
	}
	for i, name := range names {
		p.enter(name)
		_, text := p.call(r, "read_meta_memory", `{"workspace_id":"a-b"}`)
		if strings.Count(text, "\n- ") != 3 || strings.Contains(text, "carol") {
			t.Errorf("%s has targets %q", name, text)
		}
		for _, target := range []string{"alice", "bob"} {
			_, text := p.call(r, "vector_retrieve_memory", fmt.Sprintf(`{"workspace_id":"a-b",`+
				`"query_items":[{"memory_type":"personal","memory_target":%q,"query":"has a `+
				`locker"},{"memory_type":"personal","memory_target":%q,"query":"likes green tea"}]}`, target, target))
			if strings.Count(text, "memory_id=") != 2 ||
				!strings.Contains(text, fmt.Sprintf("(personal/%s) Has locker %d", target, i)) ||
				!strings.Contains(text, "Likes green tea") {
				t.Errorf("%s, %s: %q", name, target, text)
			}
			_, text = p.call(scoped, "vector_retrieve_memory",
				`{"query_items":[{"memory_type":"personal","memory_target":"alice","query":"likes green tea"}]}`,
				about(memory.Personal, target))
			if strings.Count(text, "memory_id=") != 1 || !strings.Contains(text, "(personal/"+target+")") {
				t.Errorf("%s, in the scope of %s: %q", name, target, text)
			}
		}
	}
}
