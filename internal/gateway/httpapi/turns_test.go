package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func message(conversation string, n int, text string) map[string]any {
	return map[string]any{"conversation": conversation, "message_id": fmt.Sprintf("m%d", n), "text": text}
}

// talking is a gateway whose model greets each user.
func talking(t *testing.T) *bundle {
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada."})
	return b
}

func TestAMessageIsAnsweredOnceOverHTTP(t *testing.T) {
	t.Parallel()
	b := talking(t)
	var first, again, shown httpapi.TurnAnswer
	b.post("/v1/turns", message("thread/1", 1, "Hello, I am Ada.")).into(http.StatusOK, &first)
	if first.Reply != "Hello, Ada." || first.Reason != "final" || first.Turn != 1 || first.ReplySeq != 1 {
		t.Fatalf("answered %+v", first)
	}
	b.post("/v1/turns", message("thread/1", 1, "Hello, I am Ada.")).into(http.StatusOK, &again)
	b.get(first.Links.Self).into(http.StatusOK, &shown)
	if again != first || shown != first {
		t.Errorf("the same message was answered %+v, and is shown as %+v", again, shown)
	}
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests for one message", n)
	}
	b.post("/v1/turns", message("thread/1", 1, "Something else.")).refused(fault.OpReused)

	var detail inspect.ConversationDetail
	// it receives the reply a moment later
	for end := time.Now().Add(30 * time.Second); detail.Live == nil || detail.Live.Busy > 0; {
		if b.get(first.Links.Conversation).into(http.StatusOK, &detail); time.Now().After(end) {
			t.Fatalf("conversation %+v", detail)
		}
	}
	if detail.Turns != 1 || detail.Messages != 2 || detail.Counters.Total != 1 || detail.Live == nil ||
		detail.Live.Counters.Total != 1 {
		t.Errorf("conversation %+v", detail)
	}
	var report httpapi.RunDetail
	b.get(first.Links.Run).into(http.StatusOK, &report)
	if report.Kind != run.Turn || report.Agent == nil || report.Agent.Reply != first.Reply || report.Agent.Steps != 1 ||
		len(report.ModelCalls) != 1 || report.Outcome != run.Completed {
		t.Errorf("run %+v, agent %+v", report, report.Agent)
	}
	b.post(first.Links.Run+"/retry", nil).refused(fault.InvalidArgument)
}

// An accepted message gets a reply even if the caller disconnects.
func TestATurnThatNobodyWaitsForIsAnswered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada."})
	in := message("c", 1, "Hello, I am Ada.")
	in["wait"] = 0
	var a httpapi.TurnAnswer
	res := b.post("/v1/turns", in)
	if res.into(http.StatusAccepted, &a); a.Status != "accepted" || a.Reply != "" ||
		res.header.Get("Location") != a.Links.Self {
		t.Fatalf("accepted %+v, Location %q", a, res.header.Get("Location"))
	}
	b.Start()
	var report inspect.AgentReport
	b.watch(a.Links.Events, "", func(e sent) {
		if e.name == "end" {
			testkit.Must(t, json.Unmarshal([]byte(e.data), &report))
		}
	})
	if report.Reply != "Hello, Ada." || report.Conversation != "c" || report.MessageID != "m1" ||
		report.Reason != "final" {
		t.Errorf("the stream ended with %+v", report)
	}
	b.get(a.Links.Self).into(http.StatusOK, &a)
	if a.Status != "ended" || a.Reply != "Hello, Ada." {
		t.Errorf("shown as %+v", a)
	}
}

// A waiting request does not delay the stop of a gateway. Workers produce the reply,
// and a repeated request returns it.
func TestAWaitForAnAnswerEndsWhenTheGatewayStops(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada.", Barrier: "thinking"})
	ctx, stop := context.WithCancel(t.Context())
	served := b.serve(ctx)
	answered := make(chan response, 1)
	go func() { answered <- b.post("/v1/turns", message("c", 1, "Hello, I am Ada.")) }()
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testkit.Must(t, b.Model.AwaitBarrier(waiting, "thinking", 1))
	stop()
	var a httpapi.TurnAnswer
	(<-answered).into(http.StatusAccepted, &a)
	testkit.Must(t, <-served)
	b.Model.Release("thinking")
	if said := b.Say("c", 1, "Hello, I am Ada."); said.Reply != "Hello, Ada." || said.Run != a.Run {
		t.Errorf("answered %+v", said)
	}
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests for one message", n)
	}
}

func TestAConversationIsReadInPages(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := talking(t)
	for i := 1; i <= 3; i++ {
		b.post("/v1/turns", message("a", i, fmt.Sprintf("Message %d.", i))).into(http.StatusOK, nil)
	}
	b.post("/v1/turns", message("b", 1, "Another thread.")).into(http.StatusOK, nil)
	var said []string
	at := ""
	for {
		var page httpapi.MessageList
		b.get("/v1/conversations/a/messages?limit=4&cursor="+at).into(http.StatusOK, &page)
		for _, m := range page.Messages {
			said = append(said, fmt.Sprintf("%d %s %s %s", m.Seq, m.ID, m.Role, m.Content))
		}
		if at = page.NextCursor; at == "" {
			break
		}
	}
	if want := "0 m1 user Message 1.|1 m1 assistant Hello, Ada.|2 m2 user Message 2.|3 m2 assistant Hello, Ada.|4 " +
		"m3 user Message 3.|5 m3 assistant Hello, Ada."; strings.Join(said, "|") != want {
		t.Errorf("read %v", said)
	}
	var first, second httpapi.ConversationList
	b.get("/v1/conversations?limit=1").into(http.StatusOK, &first)
	b.get("/v1/conversations?limit=1&cursor="+first.NextCursor).into(http.StatusOK, &second)
	if len(first.Conversations) != 1 || first.Conversations[0].Name != "b" || len(second.Conversations) != 1 ||
		second.Conversations[0].Name != "a" || second.NextCursor != "" {
		t.Errorf("listed %+v, then %+v", first, second)
	}
	for query, want := range map[string]int{"q=B": 1, "channel=chat": 2, "channel=sms": 0, "q=b&channel=sms": 0} {
		var list httpapi.ConversationList
		b.get("/v1/conversations?"+query).into(http.StatusOK, &list)
		if list.Conversations == nil || len(list.Conversations) != want {
			t.Errorf("%s: %+v", query, list)
		}
	}
	b.get("/v1/conversations?channel=pigeon").refused(fault.InvalidArgument)
	b.get("/v1/conversations?cursor=x").refused(fault.InvalidArgument)
	b.get("/v1/conversations/c").refused(fault.NotFound)
	b.get("/v1/conversations/a/messages/m9").refused(fault.NotFound)
}

func TestAnObservedExchangeIsRecordedAndCounted(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	var a httpapi.TurnAnswer
	b.post("/v1/turns", map[string]any{"conversation": "o", "message_id": "m1", "mode": "observe",
		"messages": []map[string]any{
			{"role": "user", "content": "Where is my parcel?"},
			{"role": "assistant", "content": "", "tool_calls": []map[string]any{
				{"id": "1", "type": "function", "function": map[string]any{"name": "track", "arguments": `{"id":7}`}}}},
			{"role": "tool", "tool_call_id": "1", "content": "in Lyon"},
			{"role": "assistant", "content": "In Lyon."}}}).
		into(http.StatusOK, &a)
	if a.Reason != "observed" || a.Reply != "In Lyon." {
		t.Errorf("observed as %+v", a)
	}
	var page httpapi.MessageList
	b.get("/v1/conversations/o/messages").into(http.StatusOK, &page)
	if len(page.Messages) != 4 || len(page.Messages[1].ToolCalls) != 1 ||
		page.Messages[1].ToolCalls[0].Name != "track" || page.Messages[2].Role != transcript.Tool {
		t.Errorf("recorded %+v", page.Messages)
	}
	var detail inspect.ConversationDetail
	b.get("/v1/conversations/o").into(http.StatusOK, &detail)
	if detail.Counters.Total != 1 || detail.Counters.ToolIters != 1 {
		t.Errorf("counted %+v", detail.Counters)
	}
	var stated httpapi.OutcomeResult
	b.put("/v1/conversations/o/outcome", map[string]any{"outcome": "failure", "note": "It was not in Lyon."}).
		into(http.StatusOK, &stated)
	b.get("/v1/conversations/o").into(http.StatusOK, &detail)
	if len(stated.Skills) != 0 || len(detail.Outcomes) != 1 || detail.Outcomes[0].Outcome != transcript.Failure ||
		detail.Outcomes[0].Voter != stated.Voter || detail.Outcomes[0].Note == "" {
		t.Errorf("stated %+v, shown %+v", stated, detail.Outcomes)
	}
	b.put("/v1/conversations/o/outcome", map[string]any{"outcome": "perhaps"}).refused(fault.InvalidArgument)
	b.put("/v1/conversations/none/outcome", map[string]any{"outcome": "success"}).refused(fault.NotFound)
}

func TestATurnThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for name, change := range map[string]map[string]any{
		"no conversation": {"conversation": ""}, "no message": {"message_id": ""}, "no text": {"text": " "},
		"a channel": {"channel": "import"}, "an origin": {"origin": "agent"}, "a mode": {"mode": "think"},
		"a budget": {"max_turns_override": 51}, "a wait": {"wait": 121},
		"both": {"messages": []any{map[string]any{"role": "user", "content": "hi"}}},
		"an exchange without a user message": {"text": "", "mode": "observe",
			"messages": []any{map[string]any{"role": "assistant", "content": "hi"}}},
		"an unknown member": {"workspace": "other"},
	} {
		in := message("c", 1, "Hello.")
		for k, v := range change {
			in[k] = v
		}
		b.post("/v1/turns", in).refused(fault.InvalidArgument)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	b.post("/v1/turns", message("c", 1, strings.Repeat("x", 40_000))).refused(fault.TooLarge)
	b.post("/v1/turns", message("c", 1, strings.Repeat("x", 600_000))).refused(fault.TooLarge)
	b.do(request{method: http.MethodPost, path: "/v1/turns", key: b.makeKey(b.Workspace, access.Read),
		body: message("c", 1, "Hello.")}).refused(fault.OutOfScope)
	var all httpapi.ConversationList
	b.get("/v1/conversations").into(http.StatusOK, &all)
	if len(all.Conversations) != 0 {
		t.Errorf("something was written: %+v", all)
	}
}

func TestATurnIsCancelledAndAConversationEnds(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Too late.", Barrier: "thinking"})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "<NO_MEMORY_NEEDED>"}) // when the conversation has ended
	in := message("c", 1, "Think long.")
	in["wait"] = 0
	b.post("/v1/turns", in).into(http.StatusAccepted, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testkit.Must(t, b.Model.AwaitBarrier(ctx, "thinking", 1))
	var c httpapi.CancelResult
	if b.post("/v1/conversations/c/cancel?message_id=m9", nil).into(http.StatusAccepted, &c); c.Cancelled {
		t.Error("another message was cancelled")
	}
	if b.post("/v1/conversations/c/cancel", nil).into(http.StatusAccepted, &c); !c.Cancelled {
		t.Error("nothing was cancelled")
	}
	in["wait"] = 30
	var a httpapi.TurnAnswer
	b.post("/v1/turns", in).into(http.StatusOK, &a)
	if a.Reason != "interrupted" || a.Reply == "" || a.Reply == "Too late." {
		t.Errorf("answered %+v", a)
	}
	if b.post("/v1/conversations/c/cancel", nil).into(http.StatusAccepted, &c); c.Cancelled {
		t.Error("a turn was cancelled that had ended")
	}
	for range 2 { // ending an ended conversation succeeds
		b.post("/v1/conversations/c/end", nil).into(http.StatusOK, nil)
	}
	for {
		var detail inspect.ConversationDetail
		if b.get("/v1/conversations/c").into(http.StatusOK, &detail); detail.ClosedAt != nil && detail.Live == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the conversation did not end")
		}
	}
}
