package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

type object = map[string]any

// remembers adds a long-term memory and returns its id.
func (b *bundle) remembers(kind, target, content string) string {
	b.T.Helper()
	a := agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser, Op: "test/" + content,
		Subject: agent.MemoryScope{Type: kind, Target: target}}
	items, err := b.LongTerm.AddMemories(b.T.Context(), a, []memory.NewMemory{{Content: content}})
	testkit.Must(b.T, err)
	return items[0].ID
}

func calls(tool string, arguments any) []llm.ToolCall {
	raw, _ := json.Marshal(arguments)
	return []llm.ToolCall{{ID: "c", Name: tool, Arguments: string(raw)}}
}

// scriptAlice has the agents remember one thing about Alice.
func (b *bundle) scriptAlice() {
	alice := []object{{"memory_type": "personal", "memory_target": "alice"}}
	none, one := 0, 1
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: &none,
		Calls: calls("add_meta_memory", object{"meta_memories": alice})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: &one,
		Calls: calls("hands_off", object{"memory_tasks": alice})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Alice is up to date."})
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: &none,
		Calls: calls("add_memory", object{"memories": []object{{"memory_content": "Alice flies from Osaka only."}}})})
	b.Model.On(openaitest.Rule{Stage: "specialist", Reply: "One added."})
	b.Model.On(openaitest.Rule{Stage: "retrieve", Results: &none,
		Calls: calls("vector_retrieve_memory",
			object{"query_items": []object{{"memory_type": "personal", "memory_target": "alice",
				"query": "where Alice flies from"}}})})
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "From Osaka."})
}

var flying = []object{{"role": "user", "content": "I am Alice. I only fly from Osaka.",
	"timestamp": "2026-03-01T10:00:00Z"}, {"role": "assistant", "content": "Noted."}}

func TestASessionIsSummarisedAndAskedOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.scriptAlice()
	var got httpapi.MemoryRequest
	body := object{"messages": flying, "request_id": "s1", "wait": 60}
	b.post("/v1/summary_memory", body).into(http.StatusOK, &got)
	if !got.Success || got.State != run.Ended || got.Answer != "Alice is up to date." || got.Summary == nil ||
		len(got.Summary.Tasks) != 1 || len(got.Summary.Tasks[0].Added) != 1 || got.Summary.History == "" ||
		len(got.Summary.MetaAdded) != 1 {
		t.Fatalf("%+v", got)
	}
	var again httpapi.MemoryRequest
	if b.post("/v1/summary_memory", body).into(http.StatusOK, &again); again.Run != got.Run {
		t.Errorf("the same request is run %s, then %s", got.Run, again.Run)
	}
	b.post("/v1/summary_memory", object{"query": "something else", "request_id": "s1"}).refused(fault.OpReused)
	if events := b.get(got.Links.Events); !strings.Contains(string(events.body), "event: end") {
		t.Errorf("events: %s", events.body)
	}

	var fast, deep httpapi.MemoryAnswer
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "fast",
		"memory_types": []string{"personal"}}).into(http.StatusOK, &fast)
	if fast.Mode != memoryagent.Fast || len(fast.Memories) != 1 ||
		fast.Memories[0].Content != "Alice flies from Osaka only." || fast.Memories[0].History != got.Summary.History {
		t.Errorf("fast: %+v", fast)
	}
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "agentic"}).
		into(http.StatusOK, &deep)
	if deep.Mode != memoryagent.Agentic || deep.Answer != "From Osaka." || !deep.Success || len(deep.Memories) == 0 ||
		deep.Request == "" || deep.Links == nil {
		t.Fatalf("agentic: %+v", deep)
	}
	var shown httpapi.MemoryRequest
	b.get("/v1/requests/"+deep.Request).into(http.StatusOK, &shown)
	if shown.Kind != run.Retrieve || shown.Retrieved == nil || shown.Retrieved.Answer != "From Osaka." ||
		shown.Run != deep.Run {
		t.Errorf("its request: %+v", shown)
	}
	b.get(deep.Links.Self).into(http.StatusOK, nil)
	if events := b.get(deep.Links.Events); !strings.Contains(string(events.body), "event: end") {
		t.Errorf("events of a question: %s", events.body)
	}
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "fast",
		"targets": []object{{"memory_type": "personal", "memory_target": "alice"}}}).into(http.StatusOK, &fast)
	if len(fast.Memories) == 0 {
		t.Errorf("about a target: %+v", fast)
	}
}

// The options of a request reach the agents' tools: schemas, targets, trajectories.
func TestTheOptionsOfARequestReachItsAgents(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.scriptAlice()
	score := 0.5
	var got httpapi.MemoryRequest
	b.post("/v1/summary_memory", object{"wait": 60, "allow_new_targets": false, "enable_multiple": false,
		"enable_thinking_params": true, "enable_tool_memory": false, "memory_types": []string{"personal"},
		"targets": []object{{"memory_type": "personal", "memory_target": "alice"}},
		"trajectories": []object{{"messages": flying, "score": score, "task_id": "book", "metadata": object{"seed": 7}},
			{"messages": flying, "score": 1}}}).into(http.StatusOK, &got)
	asked := b.Model.Requests()
	if len(asked) == 0 {
		t.Fatalf("no model was asked: %+v", got)
	}
	var schemas []string
	for _, tool := range asked[0].Tools {
		schemas = append(schemas, fmt.Sprintf("%s %s", tool.Name, tool.Schema))
	}
	all := strings.Join(schemas, "\n")
	for _, gone := range []string{"add_meta_memory", "memory_tasks", "procedural", `"tool"`, "identity"} {
		if strings.Contains(all, gone) {
			t.Errorf("the agent is offered %s in\n%s", gone, all)
		}
	}
	if !strings.Contains(all, `"thinking"`) || !strings.Contains(all, "hands_off") {
		t.Errorf("the agent is offered\n%s", all)
	}
	text := ""
	for _, m := range asked[0].Messages {
		text += m.Content + "\n"
	}
	for _, want := range []string{`Trajectory 1 of task`, `book`, "score 0.5", "seed", "- personal(alice)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "- tool(") {
		t.Errorf("the guidelines of tools are a target in\n%s", text)
	}
}

func TestAQuestionWaitsNoLongerThanItsCaller(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t) // no worker: an agent never answers
	b.remembers("personal", "alice", "Alice flies from Osaka only.")
	var got httpapi.MemoryAnswer
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "agentic", "wait": 1}).
		into(http.StatusOK, &got)
	if got.Mode != memoryagent.Fast || got.Note == "" || len(got.Memories) != 1 || got.Run == "" || got.Request == "" {
		t.Errorf("after a second: %+v", got)
	}
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "agentic", "wait": 0,
		"request_id": "q"}).into(http.StatusAccepted, &got)
	var shown httpapi.MemoryRequest
	if b.get("/v1/requests/q").into(http.StatusOK, &shown); shown.State == run.Ended || shown.Retrieved != nil ||
		shown.Run != got.Run {
		t.Errorf("asked: %+v, shown: %+v", got, shown)
	}
	b.post("/v1/retrieve_memory", object{"query": "another", "mode": "agentic", "wait": 0, "request_id": "q"}).
		refused(fault.OpReused)
	b.post("/v1/retrieve_memory", object{"query": "Where does Alice fly from?", "mode": "agentic", "wait": 0,
		"request_id": "q", "top_k": 3}).refused(fault.OpReused)
	var kept httpapi.MemoryRequest
	if b.post("/v1/summary_memory", object{"messages": flying}).into(http.StatusAccepted, &kept); kept.Success ||
		kept.State == run.Ended {
		t.Errorf("kept: %+v", kept)
	}
}

func TestBadRequestsOfLongTermMemoryAreRefused(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for _, body := range []object{{}, {"messages": []object{}}, {"query": "x", "memory_types": []string{"core"}},
		{"query": "x", "enable_thinking_params": true, "add_think_tool": true}} {
		b.post("/v1/summary_memory", body).refused(fault.InvalidArgument)
	}
	for _, body := range []object{{}, {"query": " "}, {"query": "x", "mode": "slow"}, {"query": "x", "top_k": 1000}} {
		b.post("/v1/retrieve_memory", body).refused(fault.InvalidArgument)
	}
	for _, path := range []string{"/v1/summary_memory", "/v1/retrieve_memory"} {
		b.post(path, object{"query": "x", "workspace_id": "other"}).refused(fault.OutOfScope)
	}
	b.do(request{method: http.MethodPost, path: "/v1/retrieve_memory", body: object{"query": "x", "request_id": "a"},
		header: map[string]string{"Idempotency-Key": "b"}}).refused(fault.InvalidArgument)
	b.get("/v1/requests/none").refused(fault.NotFound)
	b.do(request{method: http.MethodPost, path: "/v1/summary_memory", key: b.makeKey(b.Workspace, access.Read),
		body: object{"query": "x"}}).refused(fault.OutOfScope)
}

// A question may include attempts at its task: agents read them, the last user
// message is the default question, and the metadata is returned.
func TestAQuestionStandsOnAttempts(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.remembers("personal", "alice", "Alice flies from Osaka only.")
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "From Osaka."})
	b.Model.On(openaitest.Rule{Stage: "rerank", Reply: `{"ranking":[{"memory":"m1","score":0.9}]}`})
	tried := []object{{"task_id": "book", "score": 0.25,
		"messages": []object{{"role": "user", "content": "Where does Alice fly from?"},
			{"role": "assistant", "content": "From Tokyo."}}}}
	body := object{"trajectories": tried, "messages": []object{{"role": "assistant", "content": "Let me look again."}},
		"metadata": object{"ticket": 7}, "request_id": "q"}
	with := func(change object) object {
		out := object{}
		for _, m := range []object{body, change} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	var answer httpapi.MemoryAnswer
	b.post("/v1/retrieve_memory", with(object{"mode": "agentic"})).into(http.StatusOK, &answer)
	if answer.Mode != memoryagent.Agentic || answer.Answer != "From Osaka." || answer.Metadata["ticket"] != 7.0 {
		t.Errorf("answered %+v", answer)
	}
	var later httpapi.MemoryRequest
	if b.get("/v1/requests/q").into(http.StatusOK, &later); later.Retrieved == nil ||
		later.Retrieved.Metadata["ticket"] != 7.0 {
		t.Errorf("later %+v", later.Retrieved)
	}
	b.post("/v1/retrieve_memory", with(object{"mode": "fast", "enable_llm_rerank": true, "deadline_ms": 50000,
		"request_id": "r"})).into(http.StatusOK, &answer)
	if answer.Note != "" || len(answer.Memories) != 1 || answer.Memories[0].Relevance == nil ||
		answer.Metadata["ticket"] != 7.0 {
		t.Errorf("refined %+v", answer)
	}
	for _, stage := range []string{"retrieve", "rerank"} {
		shown := ""
		for _, r := range b.Model.Requests() {
			if r.Stage == stage {
				_, shown, _ = strings.Cut(r.Last, `"messages":`)
			}
		}
		at := -1
		for _, want := range []string{"Trajectory 1 of task", "score 0.25", "Where does Alice fly from?", "From Tokyo.",
			"Let me look again."} {
			if i := strings.Index(shown, want); i < at || i < 0 {
				t.Errorf("%s: %q is missing, or not in its place, in\n%s", stage, want, shown)
			} else {
				at = i
			}
		}
	}
	b.post("/v1/retrieve_memory", with(object{"mode": "agentic", "trajectories": []object{},
		"query": "Where does Alice fly from?"})).refused(fault.OpReused)
	b.post("/v1/retrieve_memory", with(object{"mode": "fast", "metadata": object{"all": strings.Repeat("x", 9000)}})).
		refused(fault.TooLarge)
	b.post("/v1/retrieve_memory", object{"mode": "fast",
		"trajectories": []object{{"task_id": "book", "messages": []object{{"role": "assistant", "content": "?"}}}}}).
		refused(fault.InvalidArgument)
}

// Options of a request for the workspace, the time range and the deadline.
func TestASearchIsBoundAsItsRequestSays(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	for day, content := range map[string]string{"2026-03-01": "Alice flew from Osaka to Seoul.",
		"2026-04-15": "Alice flew from Osaka to Taipei."} {
		b.post("/v1/memories", object{"content": content, "memory_type": "personal", "memory_target": "alice",
			"event_time": day + "T12:00:00Z"}).into(http.StatusCreated, nil)
	}
	ask := func(change object) (out httpapi.MemoryAnswer) {
		t.Helper()
		body := object{"query": "Where did Alice fly from Osaka?", "mode": "fast"}
		for k, v := range change {
			body[k] = v
		}
		b.post("/v1/retrieve_memory", body).into(http.StatusOK, &out)
		return out
	}
	if got := ask(object{"workspace_id": b.Workspace.Name}); len(got.Memories) != 2 {
		t.Errorf("of the key's own workspace: %+v", got)
	}
	b.post("/v1/summary_memory", object{"messages": flying, "workspace_id": b.Workspace.Name}).
		into(http.StatusAccepted, nil)
	about := object{"targets": []object{{"memory_type": "personal", "memory_target": "alice"}}}
	for filter, want := range map[string]string{"20260301": "Seoul", "20260401,20260430": "Taipei"} {
		for _, targets := range []object{{}, about} {
			targets["time_filter"] = filter
			if got := ask(targets); len(got.Memories) != 1 || !strings.Contains(got.Memories[0].Content, want) {
				t.Errorf("%s %v: %+v", filter, targets, got)
			}
		}
	}
	if got := ask(object{"time_filter": "20250101"}); len(got.Memories) != 0 || got.Success {
		t.Errorf("a day of nothing: %+v", got)
	}
	b.post("/v1/retrieve_memory", object{"query": "x", "mode": "fast", "time_filter": "March"}).
		refused(fault.InvalidArgument)
	b.post("/v1/retrieve_memory", object{"query": "x", "mode": "agentic", "time_filter": "20260301"}).
		refused(fault.InvalidArgument)
	// Nothing drives the run that would rerank: the workspace's patience ends, then the request's own.
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: object{"memory": object{"deadline_ms": 150}}}).
		into(http.StatusOK, nil)
	if got := ask(object{"enable_llm_rerank": true}); !strings.Contains(got.Note, "150ms") || len(got.Memories) != 2 ||
		!got.Success {
		t.Errorf("the workspace's deadline: %+v", got)
	}
	if got := ask(object{"enable_llm_rerank": true, "deadline_ms": 120}); !strings.Contains(got.Note, "120ms") ||
		len(got.Memories) != 2 {
		t.Errorf("the request's deadline: %+v", got)
	}
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: object{"memory": object{"deadline_ms": 1}}}).
		refused(fault.InvalidArgument)
}

// A request is undone as a whole: added memories are removed, and changed
// memories get their previous content back.
func TestARequestIsUndone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Start()
	old := b.remembers("personal", "alice", "Alice flies from Tokyo.")
	alice, deploy := object{"memory_type": "personal", "memory_target": "alice"},
		object{"memory_type": "procedural", "memory_target": "deploy"}
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: new(0),
		Calls: append(calls("add_meta_memory", object{"meta_memories": []object{deploy}}),
			llm.ToolCall{ID: "d", Name: "add_summary_memory", Arguments: `{"summary_memory":"About Alice."}`})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: new(2),
		Calls: calls("hands_off", object{"memory_tasks": []object{alice, deploy}})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Done."})
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "remembered about alice", Results: new(0),
		Calls: calls("vector_retrieve_memory", object{"query_items": []object{{"query": "where Alice flies from"}}})})
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "remembered about alice", Results: new(1),
		Calls: calls("update_memory", object{
			"memories": []object{{"memory_id": old, "memory_content": "Alice flies from Osaka only."}}})})
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "done in deploy", Results: new(0),
		Calls: calls("add_memory", object{"memories": []object{{"memory_content": "Run a smoke test."}}})})
	b.Model.On(openaitest.Rule{Stage: "specialist", Reply: "Done."})
	var before, list httpapi.MemoryList
	b.get("/v1/memories?memory_types=personal,procedural,summary").into(http.StatusOK, &before)
	var made httpapi.MemoryRequest
	b.post("/v1/summary_memory", object{"messages": flying, "request_id": "s 1", "wait": 60}).into(http.StatusOK, &made)
	if !made.Success || len(made.Summary.Tasks) != 2 ||
		len(made.Summary.Tasks[0].Updated)+len(made.Summary.Tasks[1].Added) != 2 {
		t.Fatalf("%+v", made.Summary)
	}
	undo := request{method: http.MethodPost, path: "/v1/requests/s%201/undo",
		header: map[string]string{"Idempotency-Key": "u"}}
	var undone, again httpapi.UndoneRequest
	b.do(undo).into(http.StatusOK, &undone)
	if undone.RequestID != "s 1" || len(undone.Operations) != 4 { // three memories and a target
		t.Errorf("%+v", undone)
	}
	for _, o := range undone.Operations {
		if o.Status != memory.Undone || o.Code != "" {
			t.Errorf("%+v", o)
		}
	}
	if b.get("/v1/memories?memory_types=personal,procedural,summary").
		into(http.StatusOK, &list); len(list.Memories) != 1 || list.Memories[0].Content != before.Memories[0].Content ||
		list.Memories[0].ID != old {
		t.Errorf("there is %+v", list.Memories)
	}
	var targets httpapi.MemoryTargets
	if b.get("/v1/targets").into(http.StatusOK, &targets); targets.Total != 1 {
		t.Errorf("targets %+v", targets)
	}
	if b.do(undo).into(http.StatusOK, &again); len(again.Operations) != len(undone.Operations) {
		t.Errorf("sent again: %+v", again)
	}
	undo.header = nil
	if b.do(undo).into(http.StatusOK, &again); again.Operations[0].Status != memory.Unchanged {
		t.Errorf("a second time: %+v", again)
	}
	if all := b.events(b.key, audit.MemoryUndo); len(all) != 1 || all[0].Actor.Kind != audit.Key {
		t.Errorf("recorded %+v", all)
	}
	b.post("/v1/requests/none/undo", nil).refused(fault.NotFound)
	b.do(request{method: http.MethodPost, path: "/v1/requests/s%201/undo", key: b.makeKey(b.Workspace, access.Read)}).
		refused(fault.OutOfScope)
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "From Tokyo."})
	b.post("/v1/retrieve_memory", object{"query": "where?", "mode": "agentic", "request_id": "q"}).
		into(http.StatusOK, nil)
	b.post("/v1/requests/q/undo", nil).refused(fault.InvalidArgument)
}
