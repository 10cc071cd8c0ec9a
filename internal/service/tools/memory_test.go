package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bundle is the memory tools over a fresh database.
type bundle struct {
	*tools.Registry
	t  *testing.T
	ws int64
	n  int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	s, err := store.Open(t.Context(), pgtest.Database(t), store.Options{MaxConns: 4})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	ws, err := s.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := s.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	return &bundle{Registry: registry(t, &memory.PromptService{
		PromptPorts: memory.PromptPorts{Store: s, Embedder: embedder, Space: space,
			Finder: search.Finder{Index: s.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}), t: t,
		ws: ws.ID}
}

func registry(t *testing.T, k *memory.PromptService) *tools.Registry {
	t.Helper()
	all, err := tools.Memory(k)
	testkit.Must(t, err)
	soul, err := tools.Soul(k)
	testkit.Must(t, err)
	r, err := tools.NewRegistry(append(all, soul...)...)
	testkit.Must(t, err)
	return r
}

// call returns the result as JSON text.
func (b *bundle) call(o agent.Origin, name, arguments string) (tools.Result, string) {
	b.t.Helper()
	b.n++
	out, err := b.Call(b.t.Context(), agent.Actor{Workspace: b.ws, Origin: o, Op: fmt.Sprintf("test/%d", b.n)}, name,
		json.RawMessage(arguments))
	testkit.Must(b.t, err)
	return out, string(out.JSON)
}

func TestReviewsAreOfferedMemoryAndNoSoul(t *testing.T) {
	t.Parallel()
	r := registry(t, nil)
	const memories = "memory_save memory_replace memory_remove memory_batch memory_search"
	for origin, want := range map[agent.Origin]string{
		agent.OriginUser: memories + " soul_update", agent.OriginAgent: memories + " soul_update",
		agent.OriginNudge: memories, agent.OriginReflection: memories,
		agent.OriginDistill: "", agent.OriginDesigner: "", agent.OriginImport: "",
	} {
		var names []string
		for _, s := range r.Offered(origin) {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s is offered %q, want %q", origin, got, want)
		}
	}
	denied, err := r.Call(t.Context(), agent.Actor{Origin: agent.OriginNudge}, "soul_update",
		[]byte(`{"content":"Be brief."}`))
	if err != nil || denied.Code != fault.UnknownTool || !strings.Contains(string(denied.JSON), "memory_save") {
		t.Errorf("who may not change the soul is told %s, %v", denied.JSON, err)
	}
}

// Some endpoints reject what is not this plain.
func TestSchemasOfMemoryToolsAreClosedObjects(t *testing.T) {
	t.Parallel()
	for _, s := range registry(t, nil).Offered(agent.OriginUser) {
		var schema map[string]any
		testkit.Must(t, json.Unmarshal(s.Input, &schema))
		if schema["type"] != "object" || fmt.Sprint(schema["additionalProperties"]) != "map[not:map[]]" &&
			schema["additionalProperties"] != false || schema["oneOf"] != nil || schema["anyOf"] != nil {
			t.Errorf("%s: %s", s.Name, s.Input)
		}
		for _, tenant := range []string{"workspace", "origin", "op", "run"} {
			if schema["properties"].(map[string]any)[tenant] != nil {
				t.Errorf("%s takes %s as an argument", s.Name, tenant)
			}
		}
		if len(s.Description) < 60 || s.Class != agent.Fast || s.ReadOnly == s.Destructive && s.Name != "memory_save" {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

func TestAModelRemembersCorrectsFindsAndForgets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved, text := b.call(agent.OriginAgent, "memory_save", `{"content":"Lives in Osaka","store":"profile"}`)
	var out struct {
		IDs []string `json:"ids"`
	}
	testkit.Must(t, json.Unmarshal(saved.JSON, &out))
	if want := fmt.Sprintf(`{"ok":true,"action":"added","store":"profile","ids":["%s"],"usage_percent":2}`,
		out.IDs[0]); text != want {
		t.Errorf("saved %s, want %s", text, want)
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"memory_save", `{"content":"Lives in Osaka","store":"profile"}`, `"action":"unchanged"`},
		{"memory_replace", `{"store":"profile","match":"osaka","content":"Lives in Kyoto"}`, `"action":"replaced"`},
		{"memory_search", `{"query":"lives in kyoto"}`, `"content":"Lives in Kyoto"`},
		{"memory_batch", `{"store":"core","operations":[{"op":"add","content":"The staging host is quartz"}]}`,
			`"action":"applied"`},
		{"memory_remove", `{"store":"profile","match":"` + out.IDs[0] + `"}`, `"action":"removed"`},
		{"memory_search", `{"query":"lives in kyoto","k":3,"sources":["memory"]}`, `"results":[]`},
		{"soul_update", `{"content":"Be brief."}`, `"action":"updated","version":1,"effective":"next_session"`},
		{"soul_update", `{"content":"Be kind.","mode":"append","expected_version":1}`, `"version":2`},
	} {
		if got, text := b.call(agent.OriginAgent, c.name, c.arguments); !got.OK || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %s, want %s", c.name, c.arguments, text, c.want)
		}
	}
}

func TestArgumentsOutOfBoundsComeBackWithAWayOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name, arguments string
		code            fault.Code
	}{
		{"memory_save", `{}`, fault.InvalidArgument},
		{"memory_save", `{"content":""}`, fault.InvalidArgument},
		{"memory_save", `{"content":"x","store":"soul"}`, fault.InvalidArgument},
		{"memory_save", `{"content":"x","origin":"user"}`, fault.InvalidArgument},
		{"memory_save", `{"content":"` + strings.Repeat("x", 1001) + `"}`, fault.InvalidArgument},
		{"memory_batch", `{"store":"core","operations":[]}`, fault.InvalidArgument},
		{"memory_batch", `{"store":"core","operations":[{"op":"append","content":"x"}]}`, fault.InvalidArgument},
		{"memory_batch", `{"store":"core","operations":[{"op":"remove"}]}`, fault.InvalidArgument},
		{"memory_replace", `{"match":"x","content":"y"}`, fault.InvalidArgument},
		{"memory_remove", `{"store":"core","match":"not stored"}`, fault.NoMatch},
		{"memory_search", `{"query":"x","k":0}`, fault.InvalidArgument},
		{"memory_search", `{"query":"x","sources":["web"]}`, fault.InvalidArgument},
		{"soul_update", `{"content":"x","mode":"prepend"}`, fault.InvalidArgument},
		{"soul_update", `{"content":"x","expected_version":7}`, fault.VersionConflict},
	} {
		got, text := b.call(agent.OriginAgent, c.name, c.arguments)
		if got.OK || got.Code != c.code || !strings.Contains(text, `"hint":"`) {
			t.Errorf("%s %.60s: %s, want %s with a hint", c.name, c.arguments, text, c.code)
		}
	}
	if got, text := b.call(agent.OriginNudge, "soul_update", `{"content":"x"}`); got.Code != fault.UnknownTool {
		t.Errorf("a nudge calls soul_update: %s", text)
	}
}
