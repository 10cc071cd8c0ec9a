package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// about names the subject of a request.
func about(target string) func(*memoryagent.Request) {
	return func(r *memoryagent.Request) {
		r.Targets = []memory.Task{{Type: memory.Personal, Target: target}}
	}
}

// factsOf scripts the reply of the model that adds sessions.
func factsOf(b *apptest.Bundle, reply func(prompt.Material) any) {
	b.Model.On(openaitest.Rule{Stage: "facts", ReplyFunc: func(c openaitest.Call) string {
		m, err := prompt.ReadMaterial(c.Messages[1].Content)
		testkit.Must(b.T, err)
		raw, err := json.Marshal(reply(m))
		testkit.Must(b.T, err)
		return string(raw)
	}})
}

// fact returns a fact of a reply about the subject alice.
func fact(op, handle, content string, evidence ...int) object {
	out := object{"op": op, "handle": nil, "content": content, "type": "fact", "event_time": nil,
		"evidence": evidence, "about": "alice"}
	if handle != "" {
		out["handle"] = handle
	}
	return out
}

func TestASessionIsAddedWithOneModelCall(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	at := time.Date(2026, 3, 5, 14, 0, 0, 0, time.UTC)
	var shown prompt.Material
	factsOf(b, func(m prompt.Material) any {
		shown = m
		late := fact("add", "", "Alice sees the dentist on 2026-03-12.", 2)
		late["event_time"] = "2026-03-12"
		other := fact("add", "", "Bob likes jazz.", 0)
		other["about"] = "Bob"
		return object{"facts": []object{
			fact("add", "", "Alice flies from Osaka only.", 0),
			late,
			other,
			fact(
				"update",
				"m9",
				"Nothing.",
				0,
			),
			fact("add", "", "Without evidence."),
		}, "digest": "Alice told of her trips."}
	})
	said := chat("I only fly from Osaka, and Bob likes jazz.", "Noted.", "Next Thursday I see the dentist.")
	for i := range said {
		said[i].Time = at
	}
	r := summarize(b, said, about("alice"))
	got := summarized(b, r.Ref)
	if got.Status != memoryagent.OK || got.Add != settings.AddFast || got.Usage.Attempts != 1 || got.Digest == "" ||
		len(got.Tasks) != 1 || len(got.Tasks[0].Added) != 2 || len(got.MetaAdded) != 1 {
		t.Fatalf("%+v", got)
	}
	if got.Dropped["other_subject"] != 1 || got.Dropped["unknown_handle"] != 1 || got.Dropped["no_evidence"] != 1 {
		t.Errorf("dropped %v", got.Dropped)
	}
	if shown.Subject != "alice" || len(shown.Messages) != 3 ||
		!strings.HasPrefix(shown.Messages[0].Content, "[2026-03-05 Thu 14:00] ") {
		t.Errorf("shown %+v", shown)
	}
	rows := column[string](b, `select content || ' ' || to_char(event_time at time zone 'UTC', 'YYYY-MM-DD') || ' ' ||
		from_seq || '-' || to_seq from cairn.memories where type = 'personal' order by id`)
	want := []string{
		"Alice flies from Osaka only. 2026-03-05 0-0",
		"Alice sees the dentist on 2026-03-12. 2026-03-12 2-2",
	}
	if strings.Join(rows, "; ") != strings.Join(want, "; ") {
		t.Errorf("%q", rows)
	}
	if n := count(b, "select count(*) from cairn.memories where history_id = '"+got.History+"'"); n != 3 {
		t.Errorf("%d memories lead to the session", n)
	}
	if n := count(b, "select count(*) from cairn.outbox"); n != 0 {
		t.Errorf("%d outbox tasks are left", n)
	}
	if found := retrieve(b, "Where does Alice fly from?", memoryagent.Fast); len(found.Memories) == 0 ||
		!strings.Contains(found.Memories[0].Content, "Osaka") {
		t.Errorf("%+v", found)
	}
	b.RecordEnded(contract.RememberID(b.Workspace.Key, contract.SubjectOf("personal/alice")), "Remember/added")
}

// The instructions and the schema of adds are the same for all sessions, and stored once.
func TestAddsShareWhatTheirRequestsRepeat(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	factsOf(b, func(prompt.Material) any {
		return object{"facts": []object{fact("add", "", "Alice flies from Osaka only.", 0)}, "digest": ""}
	})
	for i, text := range []string{"I only fly from Osaka.", "I said that I only fly from Osaka."} {
		got := summarized(b, summarize(b, chat(text), about("alice")).Ref)
		if got.Status == memoryagent.Failed {
			t.Fatalf("add %d: %+v", i, got)
		}
	}
	if n := count(b, "select count(*) from cairn.request_parts where conversation_id = 0"); n != 2 {
		t.Errorf("%d shared parts, want the instructions and the schema", n)
	}
	if n := count(
		b,
		"select count(*) from cairn.request_parts where conversation_id <> 0 and content like '%Osaka%'",
	); n != 2 {
		t.Errorf("%d parts of conversations, want 2", n)
	}
	if n := count(b, `select count(*) from cairn.llm_calls where cardinality(parts) = 3 and request_sha =
		sha256(convert_to(cairn.request_of(workspace_id, conversation_id, request, parts), 'UTF8'))`); n != 2 {
		t.Errorf("%d requests can be read again, want 2", n)
	}
}

// A contradiction changes the memory. What it said before stays readable and can be found.
func TestAContradictionEndsWhatWasTrue(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	moved := time.Date(2026, 4, 2, 9, 0, 0, 0, time.UTC)
	factsOf(b, func(m prompt.Material) any {
		if len(m.Stored) == 0 {
			return object{"facts": []object{fact("add", "", "Alice lives in Lisbon.", 0)}, "digest": ""}
		}
		return object{
			"facts":  []object{fact("update", m.Stored[0].Handle, "Alice lives in Porto.", 0)},
			"digest": "A move.",
		}
	})
	summarized(b, summarize(b, chat("I live in Lisbon."), about("alice")).Ref)
	said := chat("I moved to Porto.")
	said[0].Time = moved
	got := summarized(b, summarize(b, said, about("alice")).Ref)
	if len(got.Tasks) != 1 || len(got.Tasks[0].Updated) != 1 {
		t.Fatalf("%+v", got)
	}
	for _, query := range []string{"Where does Alice live?", "What about Lisbon?"} {
		found := retrieve(b, query, memoryagent.Fast)
		if len(found.Memories) == 0 || found.Memories[0].Content != "Alice lives in Porto." {
			t.Fatalf("%s: %+v", query, found)
		}
		if e := found.Memories[0].Earlier; len(e) != 1 || e[0].Content != "Alice lives in Lisbon." ||
			!e[0].ValidUntil.Equal(moved) {
			t.Errorf("%s: earlier %+v", query, e)
		}
	}
	undone, err := b.Progressive.Undo(t.Context(), by(b, agent.OriginUser), got.Request)
	if err != nil || len(undone) == 0 {
		t.Fatalf("%+v, %v", undone, err)
	}
	found := retrieve(b, "Where does Alice live?", memoryagent.Fast)
	if len(found.Memories) == 0 || found.Memories[0].Content != "Alice lives in Lisbon." ||
		len(found.Memories[0].Earlier) != 0 {
		t.Errorf("undone: %+v", found)
	}
}

func TestTheWayOfAnAddFollowsSettingAndRequest(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	choose := func(change func(*settings.Settings)) {
		chooseSettings(b, change)
	}
	way := func(text string, change ...func(*memoryagent.Request)) string {
		r := summarize(b, chat(text), change...)
		report, err := b.Progressive.Report(t.Context(), r.Ref)
		testkit.Must(t, err)
		return report.Add
	}
	add := func(how string) func(*memoryagent.Request) {
		return func(r *memoryagent.Request) { r.Add = how }
	}
	long := strings.Repeat("I read a book about lighthouses. ", 2000)
	for i, c := range []struct {
		want   string
		change []func(*memoryagent.Request)
		text   string
	}{
		{"agents", nil, "Nobody is named."},
		{"fast", []func(*memoryagent.Request){about("alice")}, "Alice is named."},
		{"agents", []func(*memoryagent.Request){about("alice")}, long},
		{"fast", []func(*memoryagent.Request){about("alice"), add("fast")}, long},
		{"agents", []func(*memoryagent.Request){about("alice"), add("agents")}, "Agents are asked for."},
		{"agents", []func(*memoryagent.Request){about("alice"), func(r *memoryagent.Request) {
			r.Targets = append(r.Targets, memory.Task{Type: memory.Personal, Target: "bob"})
		}}, "Two are named."},
	} {
		if got := way(c.text, c.change...); got != c.want {
			t.Errorf("case %d is added by %s, want %s", i, got, c.want)
		}
	}
	_, err := b.Progressive.Summarize(t.Context(), memoryagent.Request{Workspace: b.Workspace.ID,
		WorkspaceKey: b.Workspace.Key, Messages: chat("Who?"), Add: "fast"})
	if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), "subject is not known") {
		t.Errorf("without a subject: %v", err)
	}
	choose(func(s *settings.Settings) { s.Memory.Person = "Vera" })
	if got := way("The workspace has a person."); got != "fast" {
		t.Errorf("with a person: %s", got)
	}
	choose(func(s *settings.Settings) { s.Memory.Add = settings.AddAgents })
	if got := way("The workspace wants agents.", about("alice")); got != "agents" {
		t.Errorf("with the setting: %s", got)
	}
}

// Adds that wait for the same subject share a call. Each gets its own result.
func TestAddsThatWaitAreJoined(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	calls := 0
	factsOf(b, func(m prompt.Material) any {
		calls++
		var all []object
		digest := ""
		for _, said := range m.Messages {
			all = append(all, fact("add", "", "Alice said: "+said.Content, said.Index))
			digest += "About " + said.Content + "\n"
		}
		return object{"facts": all, "digest": digest}
	})
	var runs []run.Run
	for _, text := range []string{"I like figs.", "I like plums.", "I like pears."} {
		runs = append(runs, summarize(b, chat(text), about("alice")))
	}
	bob := summarize(b, chat("I like jazz."), about("bob"))
	b.Start()
	for i, r := range runs {
		got := summarized(b, r.Ref)
		if got.Joined != 3 || len(got.Tasks) != 1 || len(got.Tasks[0].Added) != 1 || got.Digest == "" || got.Fallback ||
			(got.CallRun == "") != (i == 0) {
			t.Errorf("add %d: %+v", i, got)
		}
	}
	summarized(b, bob.Ref)
	if n := count(b, "select count(*) from cairn.llm_calls"); n != 2 || calls != 2 {
		t.Errorf("%d calls in the ledger, %d at the model", n, calls)
	}
	if got := remembers(b, memory.Personal); len(got) != 3 || got[0] != "alice: Alice said: I like figs." {
		t.Errorf("%q", got)
	}
}

// A canceled workflow ends the adds of its subject.
func TestACanceledAddIsInterrupted(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "facts", Barrier: "call", Reply: `{"facts":[],"digest":""}`})
	r := summarize(b, chat("I like tea."), about("alice"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "call", 1))
	testkit.Must(t, b.Temporal.CancelWorkflow(t.Context(), r.WorkflowID, ""))
	got := summarized(b, r.Ref)
	b.Model.Release("call")
	if got.Status != memoryagent.Failed || got.Reason != agent.Interrupted {
		t.Errorf("%+v", got)
	}
	b.RecordEnded(r.WorkflowID, "Remember/canceled")
}

// Beyond the limit, an add is refused before anything is stored. It works when others have ended.
func TestTooManyOpenAddsAreRefused(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	factsOf(b, func(prompt.Material) any { return object{"facts": []object{}, "digest": ""} })
	chooseSettings(b, func(s *settings.Settings) { s.Memory.OpenAdds = 2 })
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	key := b.Key("adder", "write")
	post := func(path, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		testkit.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		out, err := http.DefaultClient.Do(r)
		testkit.Must(t, err)
		t.Cleanup(func() { out.Body.Close() })
		return out
	}
	summarize(b, chat("One."), about("alice"))
	summarize(b, chat("Two."), about("bob"))
	before := count(b, "select count(*) from cairn.conversations")
	for path, body := range map[string]string{
		"/v1/summary_memory": `{"messages":[{"role":"user","content":"Three."}],"targets":[{"memory_type":"personal",` +
			`"memory_target":"eve"}]}`,
		"/mem0/memories": `{"messages":"Three.","user_id":"eve"}`,
	} {
		out := post(path, body)
		if out.StatusCode != http.StatusTooManyRequests || out.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q", path, out.StatusCode, out.Header.Get("Retry-After"))
		}
		var p map[string]any
		testkit.Must(t, json.NewDecoder(out.Body).Decode(&p))
		if text, _ := p["detail"].(string); strings.HasPrefix(path, "/mem0") != strings.Contains(text, "open adds") {
			t.Errorf("%s: %v", path, p)
		}
	}
	if after := count(b, "select count(*) from cairn.conversations"); after != before {
		t.Errorf("%d conversations were stored", after-before)
	}
	bulk := post("/v1/memories/batch", `{"infer":true,"memories":[{"memory_target":"fay","content":"I row."},`+
		`{"memory_target":"gus","content":"I ski."}]}`) // is limited by its bytes
	var accepted struct{ Accepted int }
	testkit.Must(t, json.NewDecoder(bulk.Body).Decode(&accepted))
	if accepted.Accepted != 2 {
		t.Errorf("a batch: %d, %d accepted", bulk.StatusCode, accepted.Accepted)
	}
	b.Start()
	testkit.Eventually(t, "there is room", func() bool {
		return count(b, "select count(*) from cairn.runs where status <> 'ended'") == 0
	})
	if out := post("/mem0/memories", `{"messages":"Three.","user_id":"eve"}`); out.StatusCode != http.StatusOK {
		t.Errorf("with room: %d", out.StatusCode)
	}
}

// A permanent failure of the model ends the runs; a reply that cannot be read is asked for once more.
func TestAnAddWhoseModelFailsIsReported(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "facts", Status: http.StatusUnauthorized, Times: 1})
	got := summarized(b, summarize(b, chat("I like tea."), about("alice")).Ref)
	if got.Status != memoryagent.Failed || got.Detail != "model_auth" {
		t.Errorf("%+v", got)
	}
	b.RecordEnded(contract.RememberID(b.Workspace.Key, contract.SubjectOf("personal/alice")), "Remember/failed")
	b.Model.On(openaitest.Rule{Stage: "facts", Reply: "no facts here", Times: 1})
	factsOf(b, func(prompt.Material) any {
		return object{"facts": []object{fact("add", "", "Likes tea.", 0)}, "digest": ""}
	})
	got = summarized(b, summarize(b, chat("I like green tea."), about("alice")).Ref)
	if got.Status != memoryagent.OK || got.Usage.Attempts != 2 {
		t.Errorf("%+v", got)
	}
}

// chooseSettings changes the settings of the workspace.
func chooseSettings(b *apptest.Bundle, change func(*settings.Settings)) {
	b.Within(func(ctx context.Context, q store.Tx) error {
		s, err := q.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		change(&s)
		return q.Workspaces().SetSettings(ctx, s)
	})
}
