package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

const longReply = "The weather in Bergen is wet. Take a coat, an umbrella and warm shoes; the wind comes from the sea."

// replied splits the events of a reply: the text of its last step, and the turn.
func replied(t *testing.T, all []sent) (text string, resets int, turn httpapi.TurnAnswer) {
	t.Helper()
	step := 0
	for _, e := range all {
		var d httpapi.ReplyDelta
		switch e.name {
		case "delta", "reset":
			testkit.Must(t, json.Unmarshal([]byte(e.data), &d))
			if d.Step != step || e.name == "reset" {
				step, text = d.Step, ""
			}
			if text += d.Text; e.name == "reset" {
				resets++
			}
		case "end":
			testkit.Must(t, json.Unmarshal([]byte(e.data), &turn))
		default:
			t.Fatalf("event %q: %s", e.name, e.data)
		}
	}
	return text, resets, turn
}

func TestAReplyIsStreamedWhileTheModelWritesIt(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: longReply, Pace: 60 * time.Millisecond})
	paid := -1
	all, end := b.streamed("/v1/turns", message("c", 1, "How is the weather?"), func(e sent) {
		if paid < 0 {
			paid = len(b.Model.Paid())
		}
	})
	text, resets, turn := replied(t, all)
	if text != longReply || turn.Reply != longReply || resets != 0 || end.name != "end" {
		t.Errorf("text %q, %d resets, turn %+v", text, resets, turn)
	}
	if paid != 0 || len(all) < 4 {
		t.Errorf("%d events; the first came after the whole reply: %v", len(all), paid != 0)
	}
	again, _ := b.streamed("/v1/turns", message("c", 1, "How is the weather?"))
	if text, _, turn := replied(t, again); text != longReply || turn.Reply != longReply {
		t.Errorf("the same message again: %q, %+v", text, turn)
	}
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests for one message", n)
	}
	var plain httpapi.TurnAnswer
	b.post("/v1/turns", message("c", 1, "How is the weather?")).into(http.StatusOK, &plain)
	if plain.Reply != longReply {
		t.Errorf("without a stream: %+v", plain)
	}
}

// A client that lost its connection continues after its last event.
func TestAStreamOfAReplyContinuesAfterAnEvent(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: longReply, Pace: 60 * time.Millisecond})
	all, _ := b.streamed("/v1/turns", message("c", 1, "How is the weather?"))
	const path = "/v1/conversations/c/messages/m1/stream"
	for i := range all[:len(all)-1] {
		var rest []sent
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
		testkit.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+b.key)
		req.Header.Set("Last-Event-ID", all[i].id)
		res, err := http.DefaultClient.Do(req)
		testkit.Must(t, err)
		testkit.Must(t, events(res.Body, func(e sent) { rest = append(rest, e) }))
		res.Body.Close()
		before, _, _ := replied(t, all[:i+1])
		after, _, turn := replied(t, rest)
		if before+after != longReply || turn.Reply != longReply {
			t.Errorf("after event %s: %q + %q", all[i].id, before, after)
		}
	}
	for _, wrong := range []string{"x", "1.1", "1.1.1.1", "-1.1.1", "1.1.99999999999999999999", "01.1.1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
		testkit.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+b.key)
		req.Header.Set("Last-Event-ID", wrong)
		res, err := http.DefaultClient.Do(req)
		testkit.Must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("Last-Event-ID %q: status %d", wrong, res.StatusCode)
		}
	}
	b.get("/v1/conversations/c/messages/other/stream").refused(fault.NotFound)
}

// The model's endpoint breaks in the middle of a reply. The client sees the second attempt continue, or replace
// the text.
func TestAnotherAttemptContinuesTheStream(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: longReply, Pace: 20 * time.Millisecond, Events: 4, DropAfter: true,
		Match: "weather", Nth: 1})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: longReply, Match: "weather"})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "It will be sunny in Rome tomorrow, and warm.", Match: "Rome",
		Pace: 20 * time.Millisecond, Events: 2, DropAfter: true, Nth: 1})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Rain is likely in Rome tomorrow.", Match: "Rome"})
	all, _ := b.streamed("/v1/turns", message("c", 1, "How is the weather?"))
	if text, resets, turn := replied(t, all); text != longReply || resets != 0 || turn.Reply != longReply {
		t.Errorf("the same text: %q, %d resets, %+v", text, resets, turn)
	}
	all, _ = b.streamed("/v1/turns", message("c", 2, "And in Rome?"))
	text, resets, turn := replied(t, all)
	if text != "Rain is likely in Rome tomorrow." || resets != 1 || turn.Reply != text {
		t.Errorf("another text: %q, %d resets, %+v", text, resets, turn)
	}
}

// Text before a tool call has its own step.
func TestTheTextOfEachStepIsStreamed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Let me look.", Results: new(0),
		Calls: []openaitest.ToolCall{{ID: "c1", Name: "memory_search", Arguments: `{"query":"tea"}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "You like green tea."})
	all, _ := b.streamed("/v1/turns", message("c", 1, "Which tea do I like?"))
	var steps []string
	for _, e := range all {
		if e.name == "delta" {
			steps = append(steps, e.data)
		}
	}
	joined := strings.Join(steps, "\n")
	if !strings.Contains(joined, `{"step":1,"text":"Let me look."}`) ||
		!strings.Contains(joined, `{"step":2,"text":"You like green tea."}`) {
		t.Errorf("deltas:\n%s", joined)
	}
}

func TestAStreamEndsWithTheWaitOfItsCaller(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Later.", Barrier: "later"})
	in := message("c", 1, "Are you there?")
	in["wait"] = 1
	all, _ := b.streamed("/v1/turns", in)
	if _, _, turn := replied(t, all); turn.Status != "accepted" || turn.Reply != "" {
		t.Errorf("turn %+v", turn)
	}
	b.Model.Release("later")
}
