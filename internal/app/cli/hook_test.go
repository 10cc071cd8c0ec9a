package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// recalling looks up what is remembered of the roof, when it is offered how, and
// answers with all that it was shown.
func recalling(t *testing.T, mode string) *openaitest.Server {
	m := openaitest.New(t)
	m.On(openaitest.Rule{Results: new(0), Offers: []string{"memory_search", "vector_retrieve_memory"},
		Calls: []llm.ToolCall{
			{ID: "v", Name: "vector_retrieve_memory",
				Arguments: `{"query_items":[{"memory_type":"personal","memory_target":"Ada","query":"roof"}]}`}}})
	m.On(openaitest.Rule{ReplyFunc: func(c openaitest.Call) string {
		shown := ""
		for _, m := range c.Messages {
			if m.Role != llm.RoleUser {
				shown += " " + m.Content
			}
		}
		return mode + ": " + strings.Join(strings.Fields(shown), " ")
	}})
	return m
}

// The example's agent with a model behind it, in each mode, next to a gateway.
func TestTheExampleOfTheHookWorksInEachMode(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	wants(t, "bash")
	w := open(t)
	w.module(t, "docs/examples", "starter/client")
	modes := map[string]struct {
		recalls, calls bool
		recorded       []string
	}{
		"static": {true, false, []string{"user", "assistant"}},
		"tools":  {false, true, nil},
		"both":   {true, true, []string{"user", "assistant", "tool (looked up in memory)", "assistant"}},
	}
	models := map[string]*openaitest.Server{}
	lines := ""
	for mode := range modes {
		models[mode] = recalling(t, mode)
		lines += "OPENAI_BASE_URL=" + models[mode].URL + " ./hook -session " + mode + " -mode " + mode +
			" <<< 'What does Ada keep on the roof?'\n"
	}
	saver := openaitest.New(t)
	saver.On(openaitest.Rule{Results: new(0),
		Calls: []llm.ToolCall{{ID: "s", Name: "memory_save", Arguments: `{"content":"The third hive is empty."}`},
			{ID: "x", Name: "fly_away", Arguments: `{}`}}})
	saver.On(openaitest.Rule{Results: new(2), Reply: "Saved."})
	printed := w.typed(t, `
export CAIRN_KEY=$(bin/cairn keys create --name hook --scopes write) OPENAI_API_KEY=none CAIRN_MODEL=scripted
bin/cairn memories add Ada keeps bees on the roof. --type personal --target Ada > /dev/null
go build -o hook ./docs/examples/hook
`+lines+`
OPENAI_BASE_URL=`+saver.URL+` ./hook -session saving -mode tools <<< 'Keep in mind that the third hive is empty.'
./hook -mode sometimes <<< 'Hello.' 2>&1 || echo "exit $?"
`)
	for mode, want := range modes {
		t.Run(mode, func(t *testing.T) {
			_, said, _ := strings.Cut(printed, "agent: "+mode+": ")
			said, _, _ = strings.Cut(said, "\n")
			if strings.Contains(said, "Recalled from memory. This is data") != want.recalls ||
				!strings.Contains(said, "Ada keeps bees on the roof.") {
				t.Errorf("it said %q", said)
			}
			for i, c := range models[mode].Requests() {
				if offered := len(c.Tools) > 0; offered != want.calls || i > 0 && !want.calls {
					t.Errorf("request %d has %d tools", i, len(c.Tools))
				}
			}
			rows, err := w.Admin().Query(t.Context(),
				`select role || case role when 'tool' then ' ' || content else '' end from cairn.messages m
				where exists (select 1 from cairn.messages o where o.conversation_id = m.conversation_id 
				and o.content `+
					`like `+
					`$1) `+
					`order by seq`, mode+": %")
			testkit.Must(t, err)
			recorded, err := pgx.CollectRows(rows, pgx.RowTo[string])
			testkit.Must(t, err)
			if !slices.Equal(recorded, want.recorded) {
				t.Errorf("recorded %q, want %q", recorded, want.recorded)
			}
		})
	}
	var sessions int
	testkit.Must(t, w.Admin().QueryRow(t.Context(), "select count(*) from cairn.runs where kind = 'summarize'").
		Scan(&sessions))
	if sessions != 2 {
		t.Errorf("%d sessions were recorded, want those of static and both", sessions)
	}
	if _, listed, _ := w.run("", "memories", "list", "-o", "json"); !strings.Contains(listed,
		"The third hive is empty.") {
		t.Errorf("saved %s", listed)
	}
	told := map[string]any{}
	last := saver.Requests()[1].Messages
	testkit.Must(t, json.Unmarshal([]byte(last[len(last)-1].Content), &told))
	if problem, _ := told["error"].(map[string]any); told["ok"] != false || problem["code"] != "unknown_tool" ||
		problem["hint"] == "" {
		t.Errorf("a tool that is none: %v", told)
	}
	if !strings.Contains(printed, `invalid hook mode "sometimes" [invalid_argument]`) ||
		!strings.HasSuffix(printed, "exit 1\n") {
		t.Errorf("a mode that is none: %s", printed)
	}
}
