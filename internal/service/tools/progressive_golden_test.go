package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// flags are the options of each tool in addition to single, multiple and thinking.
var flags = map[string][]string{
	"add_memory":             {"add_when_to_use", "add_metadata", "type_tool"},
	"vector_retrieve_memory": {"enable_summary_memory", "add_memory_type_target"},
	"read_meta_memory":       {"enable_tool_memory", "enable_identity_memory"},
	"add_summary_memory":     {"add_metadata"},
	"think_tool":             {"add_output_reflection"},
	"hands_off":              {"enable_tool_memory", "enable_identity_memory"},
}

func set(o *tools.Options, flag string) {
	switch flag {
	case "enable_multiple":
		o.Multiple = true
	case "enable_thinking_params":
		o.Thinking = true
	case "add_when_to_use":
		o.WhenToUse = true
	case "add_metadata":
		o.Metadata = true
	case "type_tool":
		o.Type = memory.Guideline
	case "enable_summary_memory":
		o.SummaryMemory = true
	case "add_memory_type_target":
		o.TypeTarget = true
	case "enable_tool_memory":
		o.ToolMemory = true
	case "enable_identity_memory":
		o.IdentityMemory = true
	case "add_output_reflection":
		o.OutputReflection = true
	}
}

// combination is one set of options of a tool, as a golden file shows it.
type combination struct {
	Options     string          `json:"options"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
}

// combinations are all of them, from none of the options to all.
func combinations(t *testing.T, name string) (out []combination) {
	t.Helper()
	all := append([]string{"enable_multiple", "enable_thinking_params"}, flags[name]...)
	for mask := range 1 << len(all) {
		var o tools.Options
		var on []string
		for i, flag := range all {
			if mask>>i&1 == 1 {
				set(&o, flag)
				on = append(on, flag)
			}
		}
		made, err := tools.Profile{Options: o, Names: []string{name}}.Tools(nil)
		testkit.Must(t, err)
		if made[0].Name != name {
			t.Errorf("%s is called %s with %v", name, made[0].Name, on)
		}
		out = append(out, combination{strings.Join(on, " "), made[0].Description, made[0].Input})
	}
	return out
}

func TestSchemasOfProgressiveToolsMatchGolden(t *testing.T) {
	t.Parallel()
	if len(tools.ProgressiveNames) != 13 {
		t.Fatalf("%d tools", len(tools.ProgressiveNames))
	}
	for _, name := range tools.ProgressiveNames {
		var got bytes.Buffer
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		testkit.Must(t, encoder.Encode(combinations(t, name)))
		file := filepath.Join("testdata", "progressive", name+".json")
		if *update {
			testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			testkit.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
		}
		want, err := os.ReadFile(file)
		testkit.Must(t, err)
		if got.String() != string(want) {
			t.Errorf("%s differs from %s; run go test -update and read the diff", name, file)
		}
	}
}

// shapeOf is a schema with its properties in their order.
type shapeOf struct {
	Type                 string          `json:"type"`
	Required             []string        `json:"required"`
	Properties           json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	Items                *shapeOf        `json:"items"`
	Enum                 []string        `json:"enum"`
}

func (s shapeOf) names(t *testing.T) (out []string) {
	t.Helper()
	if s.Properties == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	_, err := d.Token()
	testkit.Must(t, err)
	for d.More() {
		name, err := d.Token()
		testkit.Must(t, err)
		out = append(out, name.(string))
		var skip json.RawMessage
		testkit.Must(t, d.Decode(&skip))
	}
	return out
}

func read(t *testing.T, raw json.RawMessage) (s shapeOf) {
	t.Helper()
	testkit.Must(t, json.Unmarshal(raw, &s))
	return s
}

func TestThinkingComesFirstAndIsRequiredOnceACall(t *testing.T) {
	t.Parallel()
	for _, name := range tools.ProgressiveNames {
		for _, c := range combinations(t, name) {
			s := read(t, c.Input)
			wanted := strings.Contains(c.Options, "enable_thinking_params")
			if names := s.names(t); wanted && (names[0] != "thinking" || s.Required[0] != "thinking") || !wanted &&
				slices.Contains(names, "thinking") {
				t.Errorf("%s with %q: %s", name, c.Options, c.Input)
			}
			if n := bytes.Count(c.Input, []byte(`"thinking":`)); wanted && n != 1 {
				t.Errorf("%s with %q asks for thinking %d times", name, c.Options, n)
			}
			if s.Type != "object" || string(s.AdditionalProperties) != "false" {
				t.Errorf("%s with %q is open: %s", name, c.Options, c.Input)
			}
			for _, p := range s.names(t) {
				if strings.Contains(p, "workspace") || p == "author" || p == "ref_memory_id" {
					t.Errorf("%s with %q takes %s as an argument", name, c.Options, p)
				}
			}
		}
	}
}

func TestToolsThatTakeOneThingIgnoreMultiple(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"add_history_memory", "add_summary_memory", "read_identity_memory",
		"update_identity_memory", "read_meta_memory", "think_tool"} {
		by := map[string]string{}
		for _, c := range combinations(t, name) {
			by[c.Options] = c.Description + string(c.Input)
		}
		for options, schema := range by {
			with := strings.TrimSpace("enable_multiple " + options)
			if multiple, ok := by[with]; ok && !strings.HasPrefix(options, "enable_multiple") && multiple != schema {
				t.Errorf("%s differs with %q", name, with)
			}
		}
	}
}

func TestEnumsAreExact(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"vector_retrieve_memory": "[identity personal procedural tool]",
		"hands_off": "[identity personal procedural tool]", "add_meta_memory": "[personal procedural]"} {
		made, err := tools.Profile{Options: tools.Options{TypeTarget: true}, Names: []string{name}}.Tools(nil)
		testkit.Must(t, err)
		var properties map[string]shapeOf
		testkit.Must(t, json.Unmarshal(read(t, made[0].Input).Properties, &properties))
		if got := fmt.Sprint(properties["memory_type"].Enum); got != want {
			t.Errorf("%s takes types %s, want %s", name, got, want)
		}
	}
}

func TestEachAgentHasItsTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile tools.Profile
		want    string
	}{
		{tools.Specialist(memory.Personal), "add_memory update_memory delete_memory vector_retrieve_memory"},
		{tools.Specialist(memory.Procedural), "add_memory update_memory delete_memory vector_retrieve_memory"},
		{tools.Specialist(memory.Guideline), "add_memory update_memory vector_retrieve_memory"},
		{tools.Specialist(memory.Identity), "read_identity_memory update_identity_memory"},
		{tools.MetaSummarizer(), "add_meta_memory add_summary_memory hands_off"},
		{tools.Retriever(), "vector_retrieve_memory read_history_memory"},
		{tools.RetrievalServer(), "read_meta_memory vector_retrieve_memory read_history_memory"},
	} {
		made, err := c.profile.Tools(nil)
		testkit.Must(t, err)
		var names []string
		for _, m := range made {
			names = append(names, m.Name)
			if control := m.Name == "think_tool" || m.Name == "hands_off"; control != (m.Class == agent.Control) {
				t.Errorf("%s is %s", m.Name, m.Class)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("has %s, want %s", got, c.want)
		}
	}
}
