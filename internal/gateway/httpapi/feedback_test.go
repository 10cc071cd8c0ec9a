package httpapi_test

import (
	"net/http"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

func (b *bundle) cases() int {
	b.T.Helper()
	open, err := b.Learning.Cases.List(b.T.Context(), b.Workspace.ID, "", 100)
	testkit.Must(b.T, err)
	return len(open)
}

// Feedback on a turn takes the question and the answer from the turn. Good feedback
// reverses earlier bad feedback.
func TestFeedbackOnATurnOpensItsCaseAndClosesIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "In Oslo."})
	b.post("/v1/turns", message("c", 1, "Where does Vera live?")).into(http.StatusOK, nil)
	rate := func(body map[string]any, once string) (out httpapi.FeedbackResult) {
		t.Helper()
		b.do(request{method: http.MethodPost, path: "/v1/feedback", body: body,
			header: map[string]string{"Idempotency-Key": once}}).into(http.StatusOK, &out)
		return out
	}
	turn := func(more map[string]any) map[string]any {
		m := message("c", 1, "")
		out := map[string]any{"conversation": m["conversation"], "message_id": m["message_id"]}
		for name, v := range more {
			out[name] = v
		}
		return out
	}
	bad := rate(turn(map[string]any{"rating": "bad"}), "1")
	if bad.Question != "Where does Vera live?" || bad.Case == 0 || bad.Failures != 1 {
		t.Fatalf("%+v", bad)
	}
	if again := rate(turn(map[string]any{"rating": "bad"}), "1"); again != bad {
		t.Errorf("sent again: %+v", again)
	}
	open, err := b.Learning.Cases.List(t.Context(), b.Workspace.ID, "", 100)
	testkit.Must(t, err)
	if len(open) != 1 || open[0].ID != bad.Case || open[0].Prediction != "In Oslo." || open[0].Run == "" ||
		open[0].Conversation == 0 {
		t.Errorf("cases %+v", open)
	}
	if good := rate(turn(map[string]any{"rating": "good"}), "2"); good.Question != bad.Question || good.Case != 0 ||
		b.cases() != 0 {
		t.Errorf("%+v, %d cases are open", good, b.cases())
	}
	if corrected := rate(map[string]any{"question": "Where does Otto live?", "correction": "In Bergen."},
		"3"); corrected.Case == 0 || corrected.Case == bad.Case {
		t.Errorf("%+v", corrected)
	}
}

func TestFeedbackThatCannotBeNotedSaysWhy(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for name, c := range map[string]struct {
		body any
		code fault.Code
	}{
		"of no turn": {map[string]any{"rating": "bad", "conversation": "none", "message_id": "m1"},
			fault.NotFound},
		"of half a turn":    {map[string]any{"rating": "bad", "message_id": "m1"}, fault.NotFound},
		"of no rating":      {map[string]any{"question": "Who?"}, fault.InvalidArgument},
		"of another rating": {map[string]any{"question": "Who?", "rating": "fine"}, fault.InvalidArgument},
		"about nothing":     {map[string]any{"rating": "good"}, fault.InvalidArgument},
		"good, and corrected": {map[string]any{"rating": "good", "question": "Who?", "correction": "Me."},
			fault.InvalidArgument},
		"of a bank not there": {map[string]any{"rating": "bad", "question": "Who?", "bank": "none"}, fault.NotFound},
		"of an array":         {"[]", fault.InvalidArgument},
	} {
		t.Log(name)
		b.post("/v1/feedback", c.body).refused(c.code)
	}
	reader := b.makeKey(b.Workspace, access.Read)
	b.do(request{method: http.MethodPost, path: "/v1/feedback", key: reader,
		body: map[string]any{"rating": "bad", "question": "Who?"}}).refused(fault.OutOfScope)
	if n := b.cases(); n != 0 {
		t.Errorf("%d cases were made", n)
	}
}
