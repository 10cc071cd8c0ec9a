package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// remembering is a gateway with a turn that has saved a memory.
func remembering(t *testing.T) (*bundle, httpapi.TurnAnswer) {
	t.Helper()
	b := talking(t)
	b.Model.Forget()
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), Times: 1, Calls: []llm.ToolCall{{ID: "call_1",
		Name: "memory_save", Arguments: `{"content":"Ada likes green tea."}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	var answer httpapi.TurnAnswer
	b.post("/v1/turns", message("kitchen", 1, "I like green tea.")).into(http.StatusOK, &answer)
	return b, answer
}

func TestWhatATurnDidIsShown(t *testing.T) {
	t.Parallel()
	b, answer := remembering(t)
	var line httpapi.RunTimeline
	b.get("/v1/runs/"+answer.Run+"/timeline").into(http.StatusOK, &line)
	kinds := ""
	for _, s := range line.Spans {
		kinds += s.Kind + " " + s.State + "|"
		if s.From.IsZero() || s.To == nil || s.To.Before(s.From) {
			t.Errorf("span %+v", s)
		}
	}
	if kinds != "model done|tool done|model done|" || len(line.Tools) != 1 ||
		!strings.Contains(line.Tools[0].Arguments, "green tea") {
		t.Errorf("%s, tools %+v", kinds, line.Tools)
	}
	var call httpapi.RunCallDetail
	b.get("/v1/runs/"+answer.Run+"/call?step="+url.QueryEscape(line.Spans[0].Name)).into(http.StatusOK, &call)
	if call.Reply == nil || len(call.Reply.Calls) != 1 || len(call.Messages) < 2 || len(call.Tools) == 0 {
		t.Errorf("call %+v", call)
	}
	b.get("/v1/runs/" + answer.Run + "/call?step=nothing").refused(fault.NotFound)
	b.get("/v1/runs/" + answer.Run + "/call?round=7&step=" + url.QueryEscape(line.Spans[0].Name)).
		refused(fault.NotFound)
	var turns httpapi.TurnList
	b.get("/v1/conversations/kitchen/turns").into(http.StatusOK, &turns)
	if len(turns.Turns) != 1 || len(turns.Turns[0].Remembered) != 1 || turns.Turns[0].Run != answer.Run ||
		turns.Turns[0].Calls != 2 || len(turns.Turns[0].Writes) != 1 {
		t.Fatalf("turns %+v", turns.Turns)
	}
	id := turns.Turns[0].Remembered[0].ID
	var evidence httpapi.EvidenceList
	b.get("/v1/memories/"+id+"/evidence").into(http.StatusOK, &evidence)
	if len(evidence.Evidence) != 1 || evidence.Evidence[0].Conversation != "kitchen" ||
		evidence.Evidence[0].Messages[0].Text != "I like green tea." {
		t.Errorf("evidence %+v", evidence)
	}
	b.get("/v1/memories/"+id+"/views").into(http.StatusOK, &httpapi.MemoryViewList{})
	b.get("/v1/memories/0000000000000000/views").refused(fault.NotFound)
	b.get("/v1/conversations/nothing/turns").refused(fault.NotFound)
}

func TestRunsAreFilteredAndListedByPages(t *testing.T) {
	t.Parallel()
	b, first := remembering(t)
	for i := range 4 {
		b.post("/v1/turns", message("kitchen", i+2, "Hello.")).into(http.StatusOK, nil)
	}
	var all, page httpapi.RunList
	b.get("/v1/runs?kind=turn&conversation=kitchen&outcome=completed&status=ended&model=scripted").
		into(http.StatusOK, &all)
	if len(all.Runs) != 5 || all.Runs[4].Run != first.Run || all.Runs[4].ConversationID != "kitchen" ||
		all.Runs[4].Calls != 2 || all.Runs[4].Tokens == 0 || all.Runs[4].CostMicros != nil {
		t.Fatalf("runs %+v", all.Runs)
	}
	seen := ""
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page = httpapi.RunList{}
		b.get("/v1/runs?limit=2&kind=turn&cursor="+cursor).into(http.StatusOK, &page)
		for _, r := range page.Runs {
			seen += r.Run + " "
		}
		if cursor = page.NextCursor; pages > 5 {
			t.Fatal("the pages do not end")
		}
	}
	want := ""
	for _, r := range all.Runs {
		want += r.Run + " "
	}
	if seen != want {
		t.Errorf("by pages %s, want %s", seen, want)
	}
	for _, filter := range []string{"kind=distill", "model=other", "conversation=other", "outcome=failed"} {
		page = httpapi.RunList{}
		if b.get("/v1/runs?"+filter).into(http.StatusOK, &page); len(page.Runs) != 0 {
			t.Errorf("%s: %+v", filter, page.Runs)
		}
	}
	b.get("/v1/runs?cursor=nonsense").refused(fault.InvalidArgument)
}

func TestMemoriesAreBrowsedAsTheyWere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var written httpapi.MemoryWritten
	b.post("/v1/memories", map[string]any{"content": "Lives in Osaka."}).into(http.StatusCreated, &written)
	b.put("/v1/memories/"+written.IDs[0], map[string]any{"content": "Lives in Kyoto."}).into(http.StatusOK, nil)
	b.admin(`update cairn.memory_revisions set created_at = now() - interval '2 days' where version = 1`)
	b.admin(`update cairn.memories set created_at = now() - interval '2 days'`)
	browse := func(query string) (out httpapi.BrowsedMemories) {
		t.Helper()
		b.get("/v1/memories/browse?"+query).into(http.StatusOK, &out)
		return out
	}
	if now := browse(
		"status=active&type=core",
	); len(now.Memories) != 1 ||
		now.Memories[0].Content != "Lives in Kyoto." {
		t.Errorf("now %+v", now)
	}
	yesterday := url.QueryEscape(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	then := browse("as_of=" + yesterday)
	if len(then.Memories) != 1 || then.Memories[0].Content != "Lives in Osaka." || !then.Memories[0].Changed ||
		then.Memories[0].Now != "Lives in Kyoto." || then.Memories[0].Version != 1 {
		t.Errorf("then %+v", then)
	}
	if before := browse("as_of=2020-01-01T00:00:00Z"); len(before.Memories) != 0 {
		t.Errorf("before %+v", before)
	}
	b.get("/v1/memories/browse?cursor=x").refused(fault.InvalidArgument)
}

func TestUsageEqualsTheLedger(t *testing.T) {
	t.Parallel()
	b, answer := remembering(t)
	b.admin(`update cairn.llm_calls set cost_micros = 250, sent_at = now() - interval '2 days' where run_id = $1`,
		answer.Run)
	var out httpapi.UsageList
	b.get("/v1/usage").into(http.StatusOK, &out)
	if len(out.Usage) != 1 || out.Usage[0].Calls != 2 || out.Usage[0].Micros != 500 || out.Usage[0].Kind != "turn" ||
		out.Usage[0].Day != time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly) {
		t.Errorf("usage %+v", out.Usage)
	}
	b.get("/v1/usage?from=2027-01-02&to=2027-01-01").refused(fault.InvalidArgument)
}

func TestOutboxAndSessionsAreManagedOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.admin(
		`insert into cairn.outbox (workspace_id, kind, key, due_at) values ($1, 'embed', '9', now() + interval '1 h')`,
		b.Workspace.ID,
	)
	var tasks httpapi.OutboxList
	b.get("/v1/outbox").into(http.StatusOK, &tasks)
	if len(tasks.Tasks) != 1 || !tasks.Tasks[0].DueAt.After(time.Now().Add(time.Minute)) {
		t.Fatalf("tasks %+v", tasks)
	}
	b.post(fmt.Sprintf("/v1/outbox/%d/retry", tasks.Tasks[0].ID), nil).into(http.StatusNoContent, nil)
	b.get("/v1/outbox").into(http.StatusOK, &tasks)
	if tasks.Tasks[0].DueAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("tasks %+v", tasks)
	}
	h, err := b.gateway.Keys.Principal(t.Context(), b.makeKey(b.Workspace, access.Read))
	testkit.Must(t, err)
	_, err = b.Sessions.SignIn(t.Context(), "", h)
	testkit.Must(t, err)
	var sessions httpapi.ConsoleSessionList
	b.get("/v1/sessions").into(http.StatusOK, &sessions)
	if len(sessions.Sessions) != 1 || sessions.Sessions[0].Key != h.Key {
		t.Fatalf("sessions %+v", sessions)
	}
	at := fmt.Sprintf("/v1/sessions/%d", sessions.Sessions[0].ID)
	b.do(request{method: http.MethodDelete, path: at}).into(http.StatusNoContent, nil)
	b.do(request{method: http.MethodDelete, path: at}).refused(fault.NotFound)
}

// What a memory was shown to, and what a skill was used for, go on after a page, also among equal times.
func TestViewsAndUsesAreListedInPages(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var written httpapi.MemoryWritten
	b.post("/v1/memories", map[string]any{"content": "Lives in Osaka."}).into(http.StatusCreated, &written)
	archive, err := skill.Zip(
		"weather",
		[]byte("---\nname: weather\ndescription: How to do it\n---\n\n## Procedure\n\n"+
			"1. Look out\n"),
		nil,
	)
	testkit.Must(t, err)
	b.do(request{method: http.MethodPost, path: "/v1/skills/upload", body: archive,
		header: map[string]string{"Content-Type": "application/zip"}}).into(http.StatusAccepted, nil)
	b.admin(`insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome)
  select $1, 'run_' || lpad(i::text, 26, '0'), 'turn', 'a/' || i, sha256('x'), '{}', 'w', 'ended', 'completed'
  from generate_series(1, 7) i`, b.Workspace.ID)
	b.admin(`insert into cairn.memory_views (workspace_id, run_id, memory_id, op_id)
  select m.workspace_id, r.id, m.id, r.id from cairn.memories m join cairn.runs r on r.workspace_id = m.workspace_id
  where r.kind = 'turn'`)
	b.admin(`insert into cairn.skill_uses (workspace_id, skill_id, use_id, version)
  select workspace_id, id, 'a|' || i, 1 from cairn.skills, generate_series(1, 7) i`)
	for list, member := range map[string]string{"memories/" + written.IDs[0] + "/views": "run",
		"skills/weather/uses": "use_id"} {
		seen := map[string]bool{}
		rows, pages := 0, 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			var page struct {
				Views, Uses []map[string]any
				Next        string `json:"next_cursor"`
			}
			b.get("/v1/"+list+"?limit=3&cursor="+cursor).into(http.StatusOK, &page)
			for _, row := range append(page.Views, page.Uses...) {
				seen[fmt.Sprint(row[member])] = true
				rows++
			}
			cursor = page.Next
		}
		if pages != 3 || rows != 7 || len(seen) != 7 {
			t.Errorf("%s: %d rows, %v, on %d pages", list, rows, seen, pages)
		}
		b.get("/v1/" + list + "?cursor=x").refused(fault.InvalidArgument)
	}
}
