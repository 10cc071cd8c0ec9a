package mem0api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// addMemory adds a memory without using the routes.
func addMemory(b *bundle, who agent.Actor, content string) {
	b.t.Helper()
	_, err := b.longTerm.AddMemories(b.t.Context(), who, []memory.NewMemory{{Content: content}})
	testkit.Must(b.t, err)
}

var said = object{"user_id": "ada", "messages": []object{{"role": "user", "content": "I moved to Bergen."}}}

func TestAnAddIsAnsweredWithWhatWasInferred(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.agent = b.remembers("ada", "Lives in Bergen.")
	var out results
	b.client().do(http.MethodPost, "/memories", said).into(&out)
	if len(out.Results) != 1 || out.Results[0].Event != "ADD" || out.Results[0].Memory != "Lives in Bergen." ||
		out.Event != "" {
		t.Errorf("%+v", out)
	}
	if got := b.client().lists("user_id=ada"); got != "Lives in Bergen." {
		t.Errorf("listed %s", got)
	}
}

func TestAnAddThatNobodyWaitsForIsAnEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	var queued, event results
	c.do(http.MethodPost, "/v3/memories/add/", said).into(&queued)
	if queued.Status != "PENDING" || queued.Event == "" || queued.Results == nil || len(queued.Results) != 0 {
		t.Fatalf("%+v", queued)
	}
	path := "/v1/event/" + queued.Event + "/"
	if c.do(http.MethodGet, path, nil).into(&event); event.Status != "PENDING" {
		t.Errorf("%+v", event)
	}
	again := queued
	for _, route := range []string{"/v3/memories/add/", "/memories"} { // the run is active: the same request
		if c.do(http.MethodPost, route, said).into(&again); again.Event != queued.Event {
			t.Errorf("%s: %+v, then %+v", route, queued, again)
		}
	}
	ref := run.Ref{Workspace: b.A.ID, Run: b.Text("select id from runs")}
	b.remembers("ada", "Lives in Bergen.")(ref)
	for range 2 {
		c.do(http.MethodGet, path, nil).into(&event)
		if event.Status != "SUCCEEDED" || event.texts() != "Lives in Bergen." || event.Results[0].Event != "ADD" {
			t.Errorf("%+v", event)
		}
	}
	c.do(http.MethodGet, "/v1/event/none/", nil).refused(http.StatusNotFound)
	if n := b.Number("select count(*) from runs"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// An add without memories states why its facts were not stored, at once and in its event.
func TestAnAddStatesWhichFactsWereDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.agent = func(ref run.Ref) {
		b.reports(ref, run.Result{Reason: agent.Final, Status: memoryagent.OK},
			memoryagent.Summary{Dropped: map[string]int{"other_subject": 2}})
	}
	var got struct {
		Results []object       `json:"results"`
		Dropped map[string]int `json:"dropped"`
	}
	keyed := b.client().with("Idempotency-Key", "k")
	for _, do := range []func() response{
		func() response { return keyed.do(http.MethodPost, "/memories", said) },
		func() response { return keyed.do(http.MethodGet, "/v1/event/k/", nil) },
	} {
		got.Dropped = nil
		if do().into(&got); len(got.Results) != 0 || got.Dropped["other_subject"] != 2 {
			t.Errorf("%+v", got)
		}
	}
}

// As with mem0, the same text can be added again later. A key marks the same request.
func TestAnAddThatHasEndedIsDoneAgainUnlessItsKeySaysOtherwise(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.agent = func(ref run.Ref) { b.ends(ref, run.Result{Reason: agent.Final, Status: memoryagent.NoMemory}) }
	runs := func() int { return b.Number("select count(*) from runs") }
	once := b.client().with("Idempotency-Key", "k")
	for range 2 {
		if once.do(http.MethodPost, "/memories", said).into(&results{}); runs() != 1 {
			t.Errorf("%d runs under one key", runs())
		}
	}
	other := object{"user_id": "bob", "messages": said["messages"]}
	if p := once.do(http.MethodPost, "/memories", other).refused(http.StatusConflict); p.Code != "op_reused" {
		t.Errorf("%+v", p)
	}
	for i := range 2 {
		if b.client().do(http.MethodPost, "/memories", said).into(&results{}); runs() != 2+i {
			t.Errorf("%d runs", runs())
		}
	}
}

// Failures of inference have mem0's error codes.
func TestAnAddWhoseModelFailsSaysWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		reason agent.Reason
		detail string
		status int
		code   string
	}{
		{agent.ProviderError, "model_auth", http.StatusBadGateway, "provider_auth_failed"},
		{agent.ProviderError, "model_rejected", http.StatusBadGateway, "provider_bad_request"},
		{agent.ProviderError, "model_context_length", http.StatusBadGateway, "provider_bad_request"},
		{agent.ProviderError, "unavailable", http.StatusBadGateway, "provider_unavailable"},
		{agent.WallClock, "", http.StatusBadGateway, "provider_unavailable"},
		{agent.OverBudget, "", http.StatusTooManyRequests, "quota_exceeded"},
		{agent.Interrupted, "", http.StatusConflict, "cancelled"},
	} {
		b.agent = func(ref run.Ref) {
			b.ends(ref, run.Result{Reason: c.reason, Detail: c.detail, Status: memoryagent.Failed})
		}
		r := b.client().do(http.MethodPost, "/memories", said)
		p := r.refused(c.status)
		if p.Code != c.code || (p.RequestID != "") != (c.status == http.StatusBadGateway) ||
			p.RequestID != "" && p.RequestID != r.header.Get("X-Request-ID") {
			t.Errorf("%s %s: %+v", c.reason, c.detail, p)
		}
	}
	var event struct{ Status, Detail string }
	var events struct{ Results []struct{ ID, Status string } }
	b.client().do(http.MethodGet, "/v1/events/?page_size=1", nil).into(&events)
	if len(events.Results) != 1 || events.Results[0].Status != "FAILED" {
		t.Fatalf("%+v", events)
	}
	b.client().do(http.MethodGet, "/v1/event/"+events.Results[0].ID+"/", nil).into(&event)
	if event.Status != "FAILED" || !strings.Contains(event.Detail, "canceled") {
		t.Errorf("%+v", event)
	}
}

func TestAnAddAsksItsAgentForWhatItsClientWants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	c.do(http.MethodPost, "/v3/memories/add/", object{"user_id": "ada", "messages": "I moved.",
		"custom_instructions": "Only places.", "timestamp": 1700000000}).into(&results{})
	c.do(http.MethodPost, "/v3/memories/add/", object{"agent_id": "cook", "memory_type": "procedural_memory",
		"messages": object{"role": "user", "content": "Peel them first."}}).into(&results{})
	for text, want := range map[string]string{"I moved.": "personal/ada", "Peel them first.": "procedural/cook"} {
		if n := b.Number(`select count(*) from runs r join messages m on m.conversation_id = r.conversation_id
			where m.content = $1 and r.spec->'pinned'->'targets'->0->>'memory_type' || '/' ||
			(r.spec->'pinned'->'targets'->0->>'memory_target') = $2`, text, want); n != 1 {
			t.Errorf("%s is not for %s", text, want)
		}
	}
	const alone = `select count(*) from runs where spec->'pinned'->'choices'->'only' = spec->'pinned'->'targets'`
	if n := b.Number(alone); n != 2 { // messages of one user create no memories of others
		t.Errorf("%d runs have only their own target", n)
	}
	const guided = `select count(*) from runs where spec->'pinned'->'choices'->>'guidance' = 'Only places.'`
	if n := b.Number(guided); n != 1 {
		t.Errorf("%d runs are told what their client wants", n)
	}
	if n := b.Number(`select count(*) from messages where event_time = to_timestamp(1700000000)`); n != 1 {
		t.Errorf("%d messages have the time of their client", n)
	}
	long := object{"user_id": "ada", "messages": "x", "prompt": strings.Repeat("x", 4001)}
	c.do(http.MethodPost, "/memories", long).refused(http.StatusRequestEntityTooLarge)
}

func TestRequestsAreTheRunsThatSomebodyAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	b.Run() // a distillation
	b.Exec("update runs set kind = 'evolve'")
	b.agent = b.remembers("ada", "Lives in Bergen.")
	c.do(http.MethodPost, "/memories", said).into(&results{})
	b.agent = nil
	c.do(http.MethodPost, "/v3/memories/add/", object{"user_id": "ada", "messages": "And now?"}).into(&results{})
	var all []struct {
		Path, Method string
		Status       int `json:"status_code"`
	}
	c.do(http.MethodGet, "/requests", nil).into(&all)
	if len(all) != 2 || all[0].Status != http.StatusAccepted || all[1].Status != http.StatusOK ||
		all[1].Path != "/memories" || all[1].Method != http.MethodPost {
		t.Errorf("%+v", all)
	}
	if c.do(http.MethodGet, "/requests?limit=1", nil).into(&all); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	for _, limit := range []string{"0", "201", "many"} {
		c.do(http.MethodGet, "/requests?limit="+limit, nil).refused(http.StatusBadRequest)
	}
}

// A raw add of a thousand messages is one operation, and its search documents are part of it.
func TestAThousandMessagesAreAddedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	messages := []object{}
	for i := range 1000 {
		messages = append(messages, object{"role": "user", "content": fmt.Sprintf("Owns crate number %d.", i)})
	}
	var out results
	for _, event := range []string{"ADD", "NONE"} {
		b.client().do(http.MethodPost, "/v3/memories/add/", object{"user_id": "ada", "infer": false,
			"messages": messages}).into(&out)
		if len(out.Results) != 1000 || out.Results[999].Event != event ||
			out.Results[999].Memory != messages[999]["content"] {
			t.Errorf("%d results, the last is %+v", len(out.Results), out.Results[len(out.Results)-1])
		}
	}
	if n := b.Number(`select count(distinct m.op_id) * 10000 + count(d.doc) from memories m left join search_docs d
		on d.workspace_id = m.workspace_id and d.kind = 'memory' and d.owner_id = m.id`); n != 11000 {
		t.Errorf("operations and documents: %d", n)
	}
}
