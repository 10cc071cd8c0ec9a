package distill_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

func TestAcceptKeepsTheConversationAndTheDutyToDistillIt(t *testing.T) {
	t.Parallel()
	d := setup(t)
	r, made, err := d.Accept(t.Context(), d.request(talk("Checkout")))
	testkit.Must(t, err)
	if !made || r.Status == run.Ended || r.Attempt != 1 || r.Generation != 1 ||
		!strings.HasPrefix(r.WorkflowID, "distill/"+d.A.Key+"/") {
		t.Errorf("accepted %+v", r)
	}
	if rows := d.Rows("conversations", "messages", "runs"); rows != "conversations 1, messages 6, runs 1" {
		t.Errorf("there are %s", rows)
	}
	if n := d.Number("select count(*) from outbox where kind = 'drive'"); n != 1 {
		t.Errorf("%d duties to drive it", n)
	}
}

func TestAcceptReturnsStoredRunForSameConversation(t *testing.T) {
	t.Parallel()
	d := setup(t)
	named := func(r *distill.Request) { r.ID = "r1" }
	unnamed := func(*distill.Request) {}
	for what, change := range map[string]func(*distill.Request){"without an id": unnamed, "with one": named} {
		first := d.accept(d.request(talk(what), change))
		again, made, err := d.Accept(t.Context(), d.request(talk(what), change))
		if err != nil || made || again.Ref != first.Ref || again.WorkflowID != first.WorkflowID {
			t.Errorf("%s: %+v, and then %+v, made %t, %v", what, first.Ref, again.Ref, made, err)
		}
	}
	_, _, err := d.Accept(t.Context(), d.request(talk("another"), named))
	wants(t, "the id with another conversation", err, fault.OpReused)
	if rows := d.Rows("runs"); rows != "runs 2" {
		t.Errorf("there are %s", rows)
	}
}

func TestAcceptMakesANewGenerationWhenAskedTo(t *testing.T) {
	t.Parallel()
	d := setup(t)
	first, _ := d.published(d.request(talk("Checkout")))
	again, made, err := d.Accept(t.Context(), d.request(talk("Checkout"), func(r *distill.Request) { r.Fresh = true }))
	if err != nil || !made || again.Ref.Run == first.Run || again.Generation != 2 ||
		again.WorkflowID == first.WorkflowID {
		t.Errorf("accepted %+v, made %t, %v", again, made, err)
	}
}

func TestAcceptChecksWhatItIsGiven(t *testing.T) {
	t.Parallel()
	d := setup(t)
	for what, change := range map[string]func(*distill.Request){
		"no messages":             func(r *distill.Request) { r.Conversation.Messages = nil },
		"an unknown channel":      func(r *distill.Request) { r.Channel = "smoke" },
		"a negative first":        func(r *distill.Request) { r.From = -1 },
		"a first beyond the last": func(r *distill.Request) { r.From = 6 },
	} {
		_, _, err := d.Accept(t.Context(), d.request(talk("Checkout"), change))
		wants(t, what, err, fault.InvalidArgument)
	}
	if rows := d.Rows("runs", "conversations"); rows != "runs 0, conversations 0" {
		t.Errorf("there are %s", rows)
	}
}

func TestOpenEndsWhatTheGateDoesNotLetThrough(t *testing.T) {
	t.Parallel()
	d := setup(t)
	never := func(r *distill.Request) { r.Spec.Extract = transcript.ExtractNever }
	ref := d.accept(d.request(talk("Checkout"), never)).Ref
	for range 2 {
		if _, open, err := d.Open(t.Context(), ref); open || err != nil {
			t.Errorf("open %t: %v", open, err)
		}
		if divided, err := d.Segment(t.Context(), pgtest.RunRef(ref)); len(divided.Tasks) != 0 || err != nil {
			t.Errorf("divided into %q: %v", divided.Tasks, err)
		}
	}
	if r := d.report(ref); r.Outcome != run.Gated || r.Reason != "the request says never" {
		t.Errorf("it ended as %q (%s)", r.Outcome, r.Reason)
	}
	d.paid("")
	passes := d.accept(d.request(talk("Payments"))).Ref
	for range 2 {
		spec, open, err := d.Open(t.Context(), passes)
		if !open || err != nil || spec.Timeouts().Model != spec.Timing.Model || spec.Timeouts().Tasks != 4 {
			t.Errorf("open %t with %+v: %v", open, spec.Timeouts(), err)
		}
	}
	_, _, err := d.Open(t.Context(), d.nowhere())
	wants(t, "an unknown run", err, fault.NotFound)
}

func TestPaceOfABrokenConfigurationIsNone(t *testing.T) {
	t.Parallel()
	for _, pinned := range []string{"", "{", "{}", `{"timing":{"model":1,"heartbeat":1,"database":1}}`} {
		if p := distill.TimeoutsOf([]byte(pinned)); p.Model != 0 || p.Tasks != 0 {
			t.Errorf("%q: %+v", pinned, p)
		}
	}
	whole := `{"limits":{"parallel":3},"timing":{"model":1,"heartbeat":2,"database":3,"give_up":4}}`
	if p := distill.TimeoutsOf([]byte(whole)); p.Tasks != 3 || p.Model != 1 || p.GiveUp != 4 {
		t.Errorf("%+v", p)
	}
}

func TestRetryGoesOnFromWhatWasPaid(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.drafted(d.request(talk("Checkout")))
	again := distill.RetryRequest{Ref: ref, WorkspaceKey: d.A.Key}
	_, err := d.Retry(t.Context(), again)
	wants(t, "a run under way", err, fault.VersionConflict)
	_, err = d.EndTask(t.Context(), endTask(ref, key, "cancelled", "canceled by the user"))
	testkit.Must(t, err)
	_, err = d.Close(t.Context(), pgtest.CloseInput(ref, "cancelled", "canceled by the user"))
	testkit.Must(t, err)

	r, err := d.Retry(t.Context(), again)
	if err != nil || r.Ref != ref || r.Attempt != 2 || r.Status == run.Ended ||
		!strings.HasSuffix(r.WorkflowID, "/retry-2") {
		t.Fatalf("retried %+v, %v", r, err)
	}
	_, err = d.Retry(t.Context(), again)
	wants(t, "retried twice", err, fault.VersionConflict)
	divided, err := d.Segment(t.Context(), pgtest.RunRef(ref))
	if err != nil || len(divided.Tasks) != 1 || divided.Tasks[0] != key {
		t.Errorf("divided into %q: %v", divided.Tasks, err)
	}
	if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); out.Ended || err != nil {
		t.Errorf("ended %t: %v", out.Ended, err)
	}
	d.paid("extract 1, segment 1")
}

func TestRetryAfreshPaysForANewGeneration(t *testing.T) {
	t.Parallel()
	d := setup(t)
	r, _ := d.published(d.request(talk("Checkout")))
	ref := run.Ref{Workspace: d.A.ID, Run: r.Run}
	spec := d.request(talk("Checkout")).Spec
	spec.Mode = distill.Simple
	made, err := d.Retry(t.Context(), distill.RetryRequest{Ref: ref, WorkspaceKey: d.A.Key, Fresh: true, Spec: spec})
	testkit.Must(t, err)
	if made.Generation != 2 || made.Ref == ref || !strings.HasSuffix(made.WorkflowID, "/redo-2") {
		t.Errorf("made %+v", made)
	}
	got, _, err := d.Open(t.Context(), made.Ref)
	if err != nil || got.Mode != distill.Full { // the request's own options stay
		t.Errorf("mode %q, %v", got.Mode, err)
	}
	_, err = d.Retry(t.Context(), distill.RetryRequest{Ref: d.nowhere(), WorkspaceKey: d.A.Key})
	wants(t, "an unknown run", err, fault.NotFound)
}
