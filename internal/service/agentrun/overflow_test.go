package agentrun_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// compactor records the requested compactions.
type compactor struct {
	asked []agentrun.Overflow
	plan  *contract.OffloadToStart // nil if the compaction is complete
}

func (c *compactor) Begin(_ context.Context, o agentrun.Overflow) (*contract.OffloadToStart, error) {
	c.asked = append(c.asked, o)
	return c.plan, nil
}

var sea = strings.Repeat("The sea is wide and the wind is cold. ", 200) // some 1900 tokens

// small gives a turn a model with a small window: some 3000 tokens of history.
func small(r *conversation.Request) { r.Spec.Limits.Window = 8000 }

// overflowing creates a turn whose conversation is too long for its model.
func (b *bundle) overflowing(change ...func(*conversation.Request)) run.Ref {
	b.t.Helper()
	for _, id := range []string{"m1", "m2", "m3"} {
		b.model.says("Aye.")
		b.drive(b.say(id, id+" "+sea, small).Run)
	}
	b.model.asked = nil
	return b.say("m4", "What did I say?", append(change, small)...).Run.Ref
}

// A conversation that does not fit is compacted before the first model call, after a review of the
// older turns.
func TestStepHasALongConversationMadeShorter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := &compactor{plan: &contract.OffloadToStart{WorkflowID: "offload"}}
	b.Compactor = c
	turn := b.overflowing()
	out, err := b.Step(t.Context(), contract.StepInput{RunRef: pgtest.RunRef(turn), Step: agent.Step{N: 1},
		Base: contract.ConversationBase{Compacts: true}})
	testkit.Must(t, err)
	asked := len(b.model.requests())
	if out.Overflow == nil || out.Overflow.WorkflowID != "offload" || asked != 0 || len(c.asked) != 1 {
		t.Fatalf("the step gives %+v after %d requests", out, asked)
	}
	o := c.asked[0]
	if o.After != 0 || o.Upto != 3 || len(o.Said) != 6 || o.Tokens < 5000 || o.AtOnce || o.Flush == nil {
		t.Fatalf("to be made shorter: %+v", o)
	}
	if f := o.Flush; f.Origin != agent.OriginNudge || f.FromSeq != 0 || f.ToSeq != 5 || f.Turn != 3 || f.Date == "" ||
		!strings.Contains(f.Material, "m1 The sea") || !strings.Contains(f.Material, "quartz") || f.System == "" {
		t.Errorf("the review before is %+v", f)
	}
}

// Without a compaction, the model gets the turns that fit.
func TestStepShowsTheTurnsThatFitWhenNothingIsMadeShorter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.overflowing()
	b.Compactor = &compactor{}
	b.model.says("Of the sea.")
	if out := b.step(turn, agent.Step{N: 1}); out.Ended == nil || out.Overflow != nil {
		t.Errorf("the step gives %+v", out)
	}
	messages := b.model.requests()[0].Messages
	if len(messages) != 3 || !strings.Contains(messages[0].Content, "m3 The sea") {
		t.Errorf("%d messages are shown, the first %.40q", len(messages), messages[0].Content)
	}
}

// With a short time limit, the compaction is done at once and the step continues.
func TestStepGoesOnWhenAConversationIsShortAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := &compactor{}
	b.Compactor = c
	turn := b.overflowing(func(r *conversation.Request) { r.Spec.Budget.Wall = 5 * time.Second })
	b.model.says("Of the sea.")
	out, err := b.Step(t.Context(), contract.StepInput{RunRef: pgtest.RunRef(turn), Step: agent.Step{N: 1},
		Base: contract.ConversationBase{Compacts: true}})
	if err != nil || out.Overflow != nil || out.Ended == nil {
		t.Errorf("the step gives %+v, %v", out, err)
	}
	if len(c.asked) != 1 || !c.asked[0].AtOnce || c.asked[0].Flush != nil {
		t.Errorf("to be made shorter: %+v", c.asked)
	}
}

// A review before a compaction writes notes under its date and reports them.
func TestAFlushTakesNotesOfItsDate(t *testing.T) {
	t.Parallel()
	s := spec()
	s.System, s.Material, s.Date, s.Turn = "Take notes.", "<material>", "2026-03-01", 7
	noted := run.ToolCall{Step: 1, Tool: "note_add", Done: true, Result: `{"ok":true,"action":"added"}`}
	w := agentrun.RunView{Spec: s, Steps: []run.Step{{N: 1, Calls: []run.ToolCall{noted}}}}
	notes, err := tools.NewRegistry()
	testkit.Must(t, err)
	f := agentrun.Flush{Notes: notes}
	if got, err := f.Tools(w); err != nil || got != agentrun.Tools(notes) {
		t.Errorf("its tools are %v, %v", got, err)
	}
	if got, err := f.Subject(t.Context(), w, 0); err != nil || got.Target != s.Date || got.Type != "note" {
		t.Errorf("its subject is %+v, %v", got, err)
	}
	told, err := f.Brief(t.Context(), w, true)
	if err != nil || told.System != s.System || !slices.EqualFunc(told.Messages, llm.User(s.Material),
		func(a, b llm.Message) bool { return a.Content == b.Content && a.Role == b.Role }) {
		t.Errorf("it is told %+v, %v", told, err)
	}
	finished, err := f.Finish(t.Context(), w, run.Result{})
	testkit.Must(t, err)
	for reason, want := range map[agent.Reason]string{agent.Final: agentrun.NudgeSaved,
		agent.Exhausted: agentrun.NudgeBudget, agent.ProviderError: agentrun.NudgeFailed} {
		e := run.Result{Reason: reason}
		outcome, err := f.Result(w, finished, &e)
		if err != nil || e.Status != want || e.Number != 7 || len(e.Writes) != 1 || outcome == "" {
			t.Errorf("after %s: %s with %+v, %v", reason, outcome, e, err)
		}
	}
	w.Steps = nil
	e := run.Result{Reason: agent.Final}
	outcome, err := f.Result(w, finished, &e)
	if err != nil || outcome != run.Completed || e.Status != agentrun.NudgeNothing {
		t.Errorf("without notes: %s with %+v, %v", outcome, e, err)
	}
}
