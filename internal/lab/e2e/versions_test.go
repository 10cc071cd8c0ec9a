package e2e_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/tools"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A workspace chooses the version and mode of each agent separately. The others do not change.
func TestAWorkspaceChoosesItsAgentsOneByOne(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	brief := memoryagent.Definition{Kind: run.Specialist, Type: memory.Personal, Version: "brief",
		Prompt: "specialist_procedural", Profile: tools.Specialist(memory.Personal), Calls: 2, Wall: 60e9}
	testkit.Must(t, b.Progressive.Registry.Register(brief))
	if err := b.Progressive.Registry.Register(brief); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("the same version twice: %v", err)
	}
	b.Start()
	b.Within(func(ctx context.Context, q store.Tx) error {
		s, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"memory":{"agents":{"personal":"brief"},`+
			`"modes":{"personal":{"profile":"typed","thinking":"param"},"summarize":{"thinking":"none",`+
			`"calls":"single"}}}}`))
		if err != nil {
			return err
		}
		return b.Progressive.Registry.Check(s.Memory)
	})
	one := func(pair string) object { return tasks([]string{pair})[0] }
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: new(0), CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return does(saying("add_meta_memory", one("personal/alice")),
			saying("add_meta_memory", one("procedural/deploy")))(c).calls
	}})
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: new(2), CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return does(saying("hands_off", one("personal/alice")), saying("hands_off", one("procedural/deploy")))(c).calls
	}})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Done."})
	b.Model.On(openaitest.Rule{Stage: "specialist", Reply: "Nothing new."})
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if got.Status != memoryagent.OK || len(got.Tasks) != 2 {
		t.Fatalf("%+v", got)
	}
	if versions := column[string](b, "select concat(business_key like '%/personal/%', ' ', "+
		"spec->'pinned'->>'version', ' ', spec->'pinned'->>'prompt') from cairn.runs where kind = 'specialist' "+
		"order by 1"); !slices.Equal(versions,
		[]string{"f v1 specialist_procedural", "t brief specialist_procedural"}) {
		t.Errorf("the runs' agents are %q", versions)
	}
	for _, c := range slices.Concat(asked(b, "summarize"), asked(b, "specialist")) {
		body, names := string(c.Body), toolNames(c)
		alice := strings.Contains(c.Messages[0].Content, "done in alice")
		if typed := slices.Contains(names, "retrieve_personal_memory"); typed != alice ||
			strings.Contains(body, `"thinking":{`) != alice {
			t.Errorf("the tools %v, typed and thought about: %t", names, alice)
		}
		if unthinking := strings.Contains(body, `"reasoning_effort":"none"`); unthinking != slices.Contains(names,
			"hands_off") || unthinking && strings.Contains(body, "memory_tasks") {
			t.Errorf("%v does not think: %t", names, unthinking)
		}
	}
}

// A chosen version may no longer exist in this program. The error names the setting to change,
// and a hand-off reports it to its agent.
func TestAnAgentThatIsNotThereIsToldOf(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	choose := func(text string) { exec(b, `update cairn.workspaces set settings = $1::jsonb`, text) }
	lacks := func(err error, setting string) {
		t.Helper()
		if err == nil {
			t.Fatalf("no error about an unknown agent for memory.agents.%s", setting)
		}
		f := fault.From(err)
		if f.Code != fault.InvalidArgument ||
			!strings.Contains(f.Message, `memory.agents.`+setting+`: agent version "v9"`) ||
			!strings.Contains(f.Hint, "v1") {
			t.Errorf("told %v, hint %q", err, f.Hint)
		}
	}
	ask := memoryagent.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: chat(deploying()...)}
	choose(`{"memory":{"agents":{"summarize":"v9"}}}`)
	_, err := b.Progressive.Summarize(t.Context(), ask)
	lacks(err, "summarize")
	choose(`{"memory":{"agents":{"retrieve":"v9"}}}`)
	_, err = b.Progressive.Ask(t.Context(),
		memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Query: "Where from?",
			Mode: memoryagent.Agentic})
	lacks(err, "retrieve")
	choose(`{"memory":{"agents":{"personal":"v9"}}}`)
	perform(b, "summarize", "", does(addMeta("personal/alice", "procedural/deploy")), does(handsOff("personal/alice")),
		does(handsOff("procedural/deploy")), says("Done."))
	perform(b, "specialist", "done in deploy", does(adds("Run a smoke test before traffic moves to the host.")),
		says("One added."))
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if len(got.Tasks) != 1 || len(got.Tasks[0].Added) != 1 {
		t.Errorf("%+v", got)
	}
	told := results(t, asked(b, "summarize")[2])[1]
	problem, _ := told["error"].(object)
	if told["ok"] != false || problem["code"] != "invalid_argument" ||
		!strings.Contains(problem["message"].(string), "memory.agents.personal") || problem["hint"] == "" {
		t.Errorf("the hand-off was told %v", told)
	}
	validThreads(t, b)
}
