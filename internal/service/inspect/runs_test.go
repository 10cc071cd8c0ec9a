package inspect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/inspect"
	"cairn/internal/service/offload"
	"cairn/internal/testkit"
)

func (b *bundle) report(ref run.Ref) inspect.RunReport {
	b.t.Helper()
	out, err := b.runs.Report(b.t.Context(), ref)
	testkit.Must(b.t, err)
	return out
}

func TestTheLatestRunsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if none, err := b.runs.List(t.Context(), b.A.ID, 10); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	b.distils("first")
	second := b.asks("c", "m1", "How are you?").Run
	third := b.distils("third")
	for range 2 {
		got, err := b.runs.List(t.Context(), b.A.ID, 2)
		testkit.Must(t, err)
		if len(got) != 2 || got[0].Ref != third.Ref || got[0].Title != "third" || got[0].Kind != run.Distill ||
			got[1].Ref != second.Ref || got[1].Kind != run.Turn || got[1].Status != run.Accepted {
			t.Errorf("%+v", got)
		}
	}
	if none, err := b.runs.List(t.Context(), b.B.ID, 10); err != nil || len(none) != 0 {
		t.Errorf("in another workspace: %+v, %v", none, err)
	}
}

func TestATurnIsReportedFromItsMessageToItsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exchange("c", "m1", "Hello!", "Hello.")
	r := b.asks("c", "m2", "Where does Vera live?").Run
	got := b.report(r.Ref)
	if a := got.Agent; got.Kind != run.Turn || got.Status != run.Accepted || got.Title != "Hello!" ||
		got.Request != r.Key || a == nil || a.Conversation != "c" || a.MessageID != "m2" || a.Turn != 2 ||
		a.Reply != "" || a.Reason != "" || got.Seconds != 0 || got.Tasks == nil {
		t.Errorf("accepted: %+v, %+v", got.Report, a)
	}
	b.fails(r.Ref)
	b.Exec("update runs set started_at = ended_at - interval '2 seconds' where id = $1", r.Ref.Run)
	got = b.report(r.Ref)
	if a := got.Agent; got.Status != run.Ended || got.Outcome != run.Failed || a.Reply == "" ||
		a.Reason != string(agent.ProviderError) || a.Detail != "model_auth" || got.Usage.Keys != 0 ||
		len(got.Calls) != 0 || got.Seconds != 2 || got.Offload != nil || a.Status != run.Ended {
		t.Errorf("ended: %+v, %+v", got.Report, a)
	}
	alone, err := b.runs.AgentReport(t.Context(), r.Ref)
	testkit.Must(t, err)
	if alone.Reply != got.Agent.Reply || alone.MessageID != "m2" || alone.Reason != got.Agent.Reason {
		t.Errorf("%+v, in the report %+v", alone, got.Agent)
	}
}

func TestAnObservedTurnIsReportedWithTheAnswerOfItsAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.Exchange("c", "m1", "Where does Vera live?", "In Bergen.")
	got := b.report(r.Ref)
	if a := got.Agent; a.Reply != "In Bergen." || a.Reason != string(contract.Observed) || a.Turn != 1 ||
		got.Outcome != run.Completed {
		t.Errorf("%+v, %+v", got.Report, a)
	}
}

func TestAReviewIsReportedWithWhatItCameTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.Exchange("c", "m1", "Hello!", "Hello.")
	review := b.reviews(turn.Conversation, 1)
	got := b.report(review.Ref)
	if a := got.Agent; got.Kind != run.Nudge || got.Status != run.Accepted || a.Conversation != "c" ||
		a.MessageID != "" || a.Result != "" {
		t.Errorf("open: %+v, %+v", got.Report, a)
	}
	_, err := b.agents.Close(t.Context(), pgtest.CloseAgent(review.Ref, agent.Interrupted))
	testkit.Must(t, err)
	got = b.report(review.Ref)
	if a := got.Agent; got.Status != run.Ended || a.Result != agentrun.NudgeFailed || a.Reply != "" ||
		a.Reason != string(agent.Interrupted) {
		t.Errorf("ended: %+v, %+v", got.Report, a)
	}
}

func TestADistillationIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.distils("A rollback")
	got := b.report(r.Ref)
	if got.Kind != run.Distill || got.Agent != nil || got.Offload != nil || got.Title != "A rollback" ||
		got.Messages != 2 || got.Run != r.Ref.Run || got.WorkflowID != r.WorkflowID {
		t.Errorf("%+v", got)
	}
}

// away starts nothing.
type away struct{}

func (away) Start(context.Context, string, string, run.Run) error { return nil }

func (away) Ended(context.Context, string) error { return nil }

func TestAShorterThreadIsReportedOnceItsRunHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := &offload.Service{Ports: offload.Ports{Store: b.Store.Store, Starter: away{}}}
	var said []transcript.Message
	for range 12 {
		said = append(said, transcript.Message{Role: transcript.User, Content: strings.Repeat("a long story ", 400)},
			transcript.Message{Role: transcript.Assistant, Content: "I see."})
	}
	out, err := s.Offload(t.Context(), offload.Request{Workspace: b.A.ID, WorkspaceKey: b.A.Key, ID: "r",
		Messages: said, TTL: time.Hour, Wait: time.Minute,
		Options: workingmemory.Options{Mode: workingmemory.ByCompress, TotalTokens: 1000, KeepRecent: 2, Preview: -1}})
	testkit.Must(t, err)
	ref := run.Ref{Workspace: b.A.ID, Run: out.Run}
	if got := b.report(ref); got.Kind != run.Offload || got.Offload != nil || got.Agent.Conversation != "" {
		t.Fatalf("open: %+v", got)
	}
	_, err = s.Close(t.Context(), contract.CloseOffloadInput{RunRef: pgtest.RunRef(ref), Code: "unavailable",
		Why: "there is no model"})
	testkit.Must(t, err)
	if got := b.report(ref); got.Offload == nil || got.Offload.Degraded != "unavailable: there is no model" {
		t.Errorf("ended: %+v", got.Offload)
	}
}

func TestProgressTellsHowFarARunIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.asks("c", "m1", "How are you?").Run
	got, err := b.runs.Progress(t.Context(), r.Ref)
	testkit.Must(t, err)
	if got.Run != r.Ref.Run || got.Kind != run.Turn || got.Status != run.Accepted || got.Outcome != "" ||
		got.Attempt != 1 || got.Steps != 0 || got.Tools == nil || got.Calls != 0 {
		t.Errorf("accepted: %+v", got)
	}
	b.fails(r.Ref)
	for range 2 {
		got, err = b.runs.Progress(t.Context(), r.Ref)
		if err != nil || got.Status != run.Ended || got.Outcome != run.Failed {
			t.Errorf("ended: %+v, %v", got, err)
		}
	}
}

func TestOnlyADistillationIsDoneAgainByItsNumber(t *testing.T) {
	t.Parallel()
	b := setup(t)
	testkit.Must(t, b.runs.Retriable(t.Context(), b.distils("c1").Ref))
	turn := b.asks("c", "m1", "How are you?").Run
	wants(t, "a turn", b.runs.Retriable(t.Context(), turn.Ref), fault.InvalidArgument)
	for want, ref := range map[run.Kind]run.Ref{run.Turn: turn.Ref, run.Distill: b.distils("c2").Ref} {
		if kind, err := b.runs.KindOf(t.Context(), ref); err != nil || kind != want {
			t.Errorf("%s, %v; want %s", kind, err, want)
		}
	}
}

func TestARunThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn, distilled := b.Exchange("c", "m1", "Hello!", "Hello.").Ref, b.distils("d").Ref
	turn.Workspace, distilled.Workspace = b.B.ID, b.B.ID
	for what, ref := range map[string]run.Ref{"unknown": {Workspace: b.A.ID, Run: run.NewID()},
		"a turn of another workspace": turn, "a distillation of another workspace": distilled} {
		for method, ask := range map[string]func() error{
			"Report":      func() error { _, err := b.runs.Report(t.Context(), ref); return err },
			"AgentReport": func() error { _, err := b.runs.AgentReport(t.Context(), ref); return err },
			"Progress":    func() error { _, err := b.runs.Progress(t.Context(), ref); return err },
			"KindOf":      func() error { _, err := b.runs.KindOf(t.Context(), ref); return err },
			"Retriable":   func() error { return b.runs.Retriable(t.Context(), ref) },
		} {
			wants(t, method+" of "+what, ask(), fault.NotFound)
		}
	}
}

// The calls of a run are shown with what is new in each round. Secrets are replaced, and an invalid reply is marked.
func TestTheCallsOfARunAreShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := b.distils("first").Ref
	const secret = "sk-4fjA83kdPq0zLm27XnRtYw61"
	put := func(round int, messages, reply string) {
		b.Exec("insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, "+
			"request_sha, holder, lease_until, reply) values ($1, $2, 'chunk', $3, 'done', 'chunk', 'm', '{}', "+
			"array[$4], '', gen_random_uuid(), now(), $5)", ref.Workspace, ref.Run, round,
			`{"model":"m","messages":[{"role":"system","content":"Divide."},{"role":"user","content":"key `+secret+
				`"}`+messages+`]}`, reply)
	}
	put(0, "", "Here: "+secret)
	put(1, `,{"role":"assistant","content":"Here"},{"role":"user","content":"No JSON."}`, "[]")
	got, err := b.runs.Exchanges(t.Context(), ref, "")
	testkit.Must(t, err)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	first, second := got[0], got[1]
	if !first.Rejected || second.Rejected || len(first.Messages) != 2 || first.Messages[0].Content != "Divide." ||
		second.Earlier != 2 || len(second.Messages) != 2 || second.Messages[1].Content != "No JSON." ||
		second.Reply.Text != "[]" {
		t.Errorf("%+v", got)
	}
	if shown := first.Messages[1].Content + first.Reply.Text; strings.Contains(shown, secret) {
		t.Errorf("a secret is shown: %s", shown)
	}
	if _, err := b.runs.Exchanges(t.Context(), ref, "extract"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another step: %v", err)
	}
	if _, err := b.runs.Exchanges(t.Context(), run.Ref{Workspace: b.B.ID, Run: ref.Run}, ""); fault.CodeOf(err) !=
		fault.NotFound {
		t.Errorf("another workspace: %v", err)
	}
}
