package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/gateway/mcpserver"
	"cairn/internal/testkit"
)

// keyed adds a key to every request.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// speak opens a session of the protocol's own client.
func (b *bundle) speak(key, profile string) (*mcp.ClientSession, error) {
	b.T.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(b.T.Context(),
		&mcp.StreamableClientTransport{Endpoint: b.url + "/mcp?profile=" + profile,
			HTTPClient: &http.Client{Transport: keyed(key)}, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	if err == nil {
		b.T.Cleanup(func() { s.Close() })
	}
	return s, err
}

func (b *bundle) call(s *mcp.ClientSession, name string, arguments any, meta mcp.Meta) *mcp.CallToolResult {
	b.T.Helper()
	r, err := s.CallTool(b.T.Context(), &mcp.CallToolParams{Meta: meta, Name: name, Arguments: arguments})
	testkit.Must(b.T, err)
	text, ok := r.Content[0].(*mcp.TextContent)
	structured, _ := json.Marshal(r.StructuredContent)
	if !ok || len(r.Content) != 1 || !sameJSON(b.T, structured, []byte(text.Text)) {
		b.T.Errorf("%s: structured %s, text %+v", name, structured, r.Content)
	}
	if content, ok := r.StructuredContent.(map[string]any); !ok || content["ok"] == r.IsError {
		b.T.Errorf("%s: isError %t with %s", name, r.IsError, structured)
	}
	return r
}

func sameJSON(t testing.TB, a, b []byte) bool {
	var x, y any
	testkit.Must(t, json.Unmarshal(a, &x))
	testkit.Must(t, json.Unmarshal(b, &y))
	return fmt.Sprint(x) == fmt.Sprint(y)
}

func TestEveryToolIsListedAndCalledOverMCP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	s, err := b.speak(b.key, mcpserver.All)
	testkit.Must(t, err)
	if got := s.InitializeResult(); got.ServerInfo.Name != "cairn" {
		t.Errorf("the server says that it is %+v", got.ServerInfo)
	}
	listed, err := s.ListTools(t.Context(), nil)
	testkit.Must(t, err)
	offered := b.Offered.Offered(agent.OriginAgent)
	if len(listed.Tools) != len(offered) || len(offered) < 6 {
		t.Fatalf("%d tools listed, %d there are", len(listed.Tools), len(offered))
	}
	for i, tool := range listed.Tools {
		spec := offered[i]
		a := tool.Annotations
		if tool.Name != spec.Name || tool.Description == "" || a.ReadOnlyHint != spec.ReadOnly ||
			a.DestructiveHint == nil || *a.DestructiveHint != spec.Destructive ||
			a.IdempotentHint && !spec.ReadOnly || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%d: %+v, annotations %+v", i, tool, a)
		}
		raw, err := json.Marshal(tool.OutputSchema)
		testkit.Must(t, err)
		var schema jsonschema.Schema
		testkit.Must(t, json.Unmarshal(raw, &schema))
		check, err := schema.Resolve(nil)
		testkit.Must(t, err)
		for _, arguments := range []any{worked[tool.Name], map[string]any{"no_such_argument": 1}} {
			if arguments == nil {
				continue // this test has no valid arguments for the tool; it still checks the failure
			}
			r := b.call(s, tool.Name, arguments, nil)
			if _, wrong := arguments.(map[string]any)["no_such_argument"]; r.IsError != wrong {
				t.Errorf("%s: %+v", tool.Name, r.StructuredContent)
			}
			if err := check.Validate(r.StructuredContent); err != nil {
				t.Errorf("%s: its result does not fit its schema: %v", tool.Name, err)
			}
		}
	}
}

// worked holds valid arguments of tools in the order of the registry:
// other tools are only called with invalid ones.
var worked = map[string]any{
	"read_meta_memory": map[string]any{},
	"vector_retrieve_memory": map[string]any{
		"query_items": []any{map[string]any{"memory_type": "tool", "memory_target": "tool_guidelines",
			"query": "web_search"}}},
	"soul_update":    map[string]any{"content": "Answer briefly."},
	"memory_save":    map[string]any{"content": "Lives in Osaka."},
	"memory_replace": map[string]any{"store": "core", "match": "Osaka", "content": "Lives in Kyoto."},
	"memory_remove":  map[string]any{"store": "core", "match": "Kyoto"},
	"memory_batch": map[string]any{"store": "core",
		"operations": []any{map[string]any{"op": "add", "content": "Works at night."}}},
	"memory_search": map[string]any{"query": "night"},
	"add_memory": map[string]any{"memory_type": "personal", "memory_target": "ada",
		"memory_content": "Ada rows on Sundays."},
	"summary_memory": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": "I tune pianos.",
			"timestamp": "2026-03-01T12:00:00Z"}}},
	"import_session": map[string]any{"session": `[{"role":"user","content":"Where is the key?"}]`},
	"skill_save": map[string]any{"name": "brew-tea", "description": "Brews a pot of tea",
		"content": "## When to Use\nSomebody wants tea.\n\n## Procedure\n1. Boil water.\n2. Pour it over the " +
			"leaves.\n\n## Pitfalls\nCold water.\n\n## Verification\nIt smells of tea.\n"},
	"skill_list":   map[string]any{},
	"skill_view":   map[string]any{"name": "brew-tea"},
	"skill_patch":  map[string]any{"name": "brew-tea", "old_string": "Boil water.", "new_string": "Boil fresh water."},
	"skill_delete": map[string]any{"name": "brew-tea"},
}

func TestTheDefaultProfileIsTheDesignsList(t *testing.T) {
	t.Parallel()
	b := idle(t)
	names := func(key, profile string) (out []string) {
		s, err := b.speak(key, profile)
		testkit.Must(t, err)
		listed, err := s.ListTools(t.Context(), nil)
		testkit.Must(t, err)
		for _, tool := range listed.Tools {
			out = append(out, tool.Name)
		}
		return out
	}
	all := names(b.key, "")
	slices.Sort(all)
	if want := "memory_save memory_search read_history_memory read_meta_memory skill_delete skill_list skill_patch " +
		"skill_save skill_view soul_update vector_retrieve_memory"; strings.Join(all, " ") != want {
		t.Errorf("by default it offers %v", all)
	}
	for _, name := range names(b.makeKey(b.Workspace, access.Read), mcpserver.All) {
		if !b.Offered.Offered(agent.OriginAgent, name)[0].ReadOnly {
			t.Errorf("a key that only looks is offered %s", name)
		}
	}
	b.do(request{method: http.MethodPost, path: "/mcp?profile=most", body: `{}`}).refused(fault.InvalidArgument)
}

// Check A11: three tools that read, and no argument that names a workspace.
func TestTheRetrievalProfileReadsLongTermMemory(t *testing.T) {
	t.Parallel()
	b := idle(t)
	id := b.remembers("personal", "alice", "Alice flies from Osaka only.")
	s, err := b.speak(b.makeKey(b.Workspace, access.Read), mcpserver.Retrieval)
	testkit.Must(t, err)
	listed, err := s.ListTools(t.Context(), nil)
	testkit.Must(t, err)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if raw, _ := json.Marshal(tool.InputSchema); strings.Contains(string(raw), "workspace") {
			t.Errorf("%s takes %s", tool.Name, raw)
		}
	}
	if strings.Join(names, " ") != "read_meta_memory vector_retrieve_memory read_history_memory" {
		t.Errorf("it offers %v", names)
	}
	if r := b.call(s, "read_meta_memory", map[string]any{}, nil); !strings.Contains(fmt.Sprint(r.StructuredContent),
		"- personal(alice): ") {
		t.Errorf("the targets are %v", r.StructuredContent)
	}
	query := map[string]any{"query_items": []any{
		map[string]any{"memory_type": "personal", "memory_target": "alice", "query": "where Alice flies from"}},
		"workspace_id": "other"}
	if r := b.call(s, "vector_retrieve_memory", query, nil); r.IsError ||
		!strings.Contains(fmt.Sprint(r.StructuredContent), "memory_id="+id) {
		t.Errorf("found %v", r.StructuredContent)
	}
	if r := b.call(s, "read_history_memory", map[string]any{"memory_ids": []string{id}}, nil); !r.IsError ||
		!strings.Contains(fmt.Sprint(r.StructuredContent), "has no session") {
		t.Errorf("read %v", r.StructuredContent)
	}
	if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_save",
		Arguments: map[string]any{"content": "x"}}); err == nil {
		t.Errorf("it saves: %+v", r)
	}
}

// The agent of another program manages long-term memories: it adds, finds,
// updates and deletes those of a target, and summarizes sessions.
func TestTheMemoryProfileChangesLongTermMemory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	s, err := b.speak(b.key, mcpserver.Memory)
	testkit.Must(t, err)
	listed, err := s.ListTools(t.Context(), nil)
	testkit.Must(t, err)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if raw, _ := json.Marshal(tool.InputSchema); strings.Contains(string(raw), "workspace") {
			t.Errorf("%s takes %s", tool.Name, raw)
		}
	}
	if strings.Join(names, " ") != "read_meta_memory vector_retrieve_memory read_history_memory add_memory "+
		"update_memory delete_memory summary_memory import_session" {
		t.Errorf("it offers %v", names)
	}
	ada := func(more map[string]any) map[string]any {
		more["memory_type"], more["memory_target"] = "personal", "ada"
		return more
	}
	said := func(r *mcp.CallToolResult) string { return fmt.Sprint(r.StructuredContent) }
	meta := mcp.Meta{mcpserver.OnceKey: "add-1"}
	for range 2 {
		if r := b.call(s, "add_memory", ada(map[string]any{"memory_content": "Ada rows on Sundays."}),
			meta); r.IsError || !strings.Contains(said(r), "added") {
			t.Errorf("adding: %v", said(r))
		}
	}
	var id string
	testkit.Must(t, b.connect().QueryRow(t.Context(),
		"select external_id from cairn.memories where type = 'personal' and origin = 'agent'").Scan(&id))
	if r := b.call(s, "update_memory", map[string]any{"memory_type": "personal", "memory_target": "bob",
		"memory_id": id, "memory_content": "x"}, nil); !r.IsError ||
		!strings.Contains(said(r), string(fault.OutOfScope)) {
		t.Errorf("as if it were another's: %v", said(r))
	}
	if r := b.call(s, "update_memory", ada(map[string]any{"memory_id": id, "memory_content": "Ada rows on Mondays."}),
		nil); r.IsError {
		t.Errorf("correcting: %v", said(r))
	}
	query := map[string]any{"query_items": []any{
		map[string]any{"memory_type": "personal", "memory_target": "ada", "query": "when Ada rows"}}}
	if r := b.call(s, "vector_retrieve_memory", query, nil); !strings.Contains(said(r), "Mondays") {
		t.Errorf("found %v", said(r))
	}
	if r := b.call(s, "delete_memory", ada(map[string]any{"memory_id": id}), nil); r.IsError {
		t.Errorf("forgetting: %v", said(r))
	}
	if r := b.call(s, "vector_retrieve_memory", query, nil); strings.Contains(said(r), "Mondays") {
		t.Errorf("found what was forgotten: %v", said(r))
	}
	session := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "I tune pianos."},
		map[string]any{"role": "assistant", "content": "Noted."}}}
	first := b.call(s, "summary_memory", session, nil)
	if again := b.call(s, "summary_memory", session, nil); first.IsError || said(again) != said(first) {
		t.Errorf("a session is taken as %v, then as %v", said(first), said(again))
	}
	request, _ := first.StructuredContent.(map[string]any)["request_id"].(string)
	b.get("/v1/requests/"+request).into(http.StatusOK, nil)
	for _, bad := range []map[string]any{{},
		{"messages": []any{map[string]any{"role": "user", "content": "x", "timestamp": "yesterday"}}}} {
		if r := b.call(s, "summary_memory", bad, nil); !r.IsError ||
			!strings.Contains(said(r), string(fault.InvalidArgument)) {
			t.Errorf("%v: %v", bad, said(r))
		}
	}
	look, err := b.speak(b.makeKey(b.Workspace, access.Read), mcpserver.Memory)
	testkit.Must(t, err)
	if listed, err := look.ListTools(t.Context(), nil); err != nil || len(listed.Tools) != 3 {
		t.Errorf("a key that only looks is offered %+v, %v", listed, err)
	}
}

func TestACallOverMCPIsDoneOnceAsAnAgent(t *testing.T) {
	t.Parallel()
	b := idle(t)
	s, err := b.speak(b.key, "")
	testkit.Must(t, err)
	meta := mcp.Meta{mcpserver.OnceKey: "call-1"}
	first := b.call(s, "memory_save", map[string]any{"content": "Lives in Osaka."}, meta)
	if again := b.call(s, "memory_save", map[string]any{"content": "Lives in Osaka."},
		meta); fmt.Sprint(again.StructuredContent) != fmt.Sprint(first.StructuredContent) {
		t.Errorf("again: %+v", again.StructuredContent)
	}
	if fresh := b.call(s, "memory_save", map[string]any{"content": "Lives in Osaka."},
		nil); !strings.Contains(fmt.Sprint(fresh.StructuredContent), "unchanged") {
		t.Errorf("under an id of its own: %+v", fresh.StructuredContent)
	}
	if other := b.call(s, "memory_save", map[string]any{"content": "Lives in Kyoto."}, meta); !other.IsError ||
		!strings.Contains(fmt.Sprint(other.StructuredContent), string(fault.OpReused)) {
		t.Errorf("another call under the same key: %+v", other.StructuredContent)
	}
	if bad := b.call(s, "memory_save", map[string]any{"content": "x"}, mcp.Meta{mcpserver.OnceKey: 7}); !bad.IsError {
		t.Errorf("under a number: %+v", bad.StructuredContent)
	}
	var list httpapi.MemoryList
	if b.get("/v1/memories").into(http.StatusOK, &list); len(list.Memories) != 1 ||
		list.Memories[0].Origin != string(agent.OriginAgent) {
		t.Errorf("kept %+v", list.Memories)
	}
}

func TestOverMCPAKeySpeaksForItsWorkspaceOnly(t *testing.T) {
	t.Parallel()
	b := idle(t)
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	ours, err := b.speak(b.key, "")
	testkit.Must(t, err)
	theirs, err := b.speak(b.makeKey(other, access.Write), "")
	testkit.Must(t, err)
	b.call(ours, "memory_save", map[string]any{"content": "The cat is called Miso."}, mcp.Meta{mcpserver.OnceKey: "k"})
	look := map[string]any{"query": "What is the cat called?"}
	if found := b.call(ours, "memory_search", look, nil); !strings.Contains(fmt.Sprint(found.StructuredContent),
		"Miso") {
		t.Errorf("ours finds %+v", found.StructuredContent)
	}
	if found := b.call(theirs, "memory_search", look, nil); strings.Contains(fmt.Sprint(found.StructuredContent),
		"Miso") {
		t.Errorf("theirs finds %+v", found.StructuredContent)
	}
	// The same key of a call means another call in another workspace.
	if saved := b.call(theirs, "memory_save", map[string]any{"content": "The dog is called Natto."},
		mcp.Meta{mcpserver.OnceKey: "k"}); saved.IsError {
		t.Errorf("theirs saves %+v", saved.StructuredContent)
	}
	if _, err := b.speak("cairn_"+strings.Repeat("A", 43), ""); err == nil ||
		!strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a wrong key: %v", err)
	}
	b.do(request{method: http.MethodPost, path: "/mcp", header: map[string]string{"Authorization": ""}, body: `{}`}).
		refused(fault.Unauthenticated)
	for origin, ok := range map[string]bool{"http://localhost:6274": true, "http://127.0.0.1:9": true,
		"http://evil.example.com": false, "null": false, "http://10.0.0.1": false} {
		r := b.do(request{method: http.MethodPost, path: "/mcp",
			header: map[string]string{"Origin": origin, "Accept": "application/json, text/event-stream"},
			body:   `{"jsonrpc":"2.0","id":1,"method":"ping"}`})
		if ok != (r.status == http.StatusOK) || !ok && r.status != http.StatusForbidden {
			b.T.Errorf("a page of %s: %d %s", origin, r.status, r.body)
		}
	}
	b.get("/mcp").refused(fault.MethodNotAllowed) // there are no sessions, and so no stream to open
}
