package agentrun_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// talked creates a conversation with n completed turns and their review.
func (b *bundle) talked(turns ...string) contract.NudgeInput {
	b.t.Helper()
	r := contract.NudgeInput{Workspace: b.A.ID, WorkspaceKey: b.A.Key, Number: len(turns), Turn: len(turns),
		Memory: true}
	for _, text := range turns {
		b.model.says("Aye.")
		turn := b.say(text, text).Run
		ended := b.drive(turn)
		r.Conversation, r.Counters = turn.Conversation, nudge.Started(ended.Counters, r.Number, true, false)
	}
	return r
}

// review is an opened review. Run and Spec are empty for a review that was not started.
type review struct {
	Run   run.Run
	Spec  agentrun.Spec
	Ended *contract.AgentResult
}

// open opens a review.
func (b *bundle) open(r contract.NudgeInput) (out review) {
	b.t.Helper()
	opened, err := b.OpenNudge(b.t.Context(), r)
	testkit.Must(b.t, err)
	out.Ended = opened.Ended
	if want := (contract.RunRef{Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey}); opened.Run == "" {
		if opened.RunRef != want {
			b.t.Errorf("not started: %+v", opened)
		}
		return out
	}
	testkit.Must(b.t, b.InWorkspace(b.t.Context(), r.Workspace, func(ctx context.Context, tx store.Tx) error {
		out.Run, err = tx.Runs().Run(ctx, opened.Run)
		return err
	}))
	out.Spec, err = agentrun.SpecOf(out.Run)
	testkit.Must(b.t, err)
	if opened.RunRef != contract.RefOf(r.WorkspaceKey, out.Run) || opened.Budget != out.Spec.Budget ||
		opened.Timeouts != out.Spec.Timeouts() {
		b.t.Errorf("opened %+v of %+v", opened, out.Run)
	}
	return out
}

func TestOpenNudgePinsWhatAReviewIsToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.", "My key is sk-proj-"+"4f9aB2cD7eF1gH3iJ5kL8mN0pQ6rS2tU")
	first := b.open(r)
	s := first.Spec
	if first.Ended != nil || first.Run.Kind != run.Nudge || s.Origin != agent.OriginNudge || s.ToSeq != 3 {
		t.Errorf("opened %+v", first)
	}
	if !strings.Contains(s.Material, "I like tea.") || !strings.Contains(s.Material, "quartz") ||
		strings.Contains(s.Material, "sk-proj") || len(s.Tools) == 0 || s.System == "" {
		t.Errorf("it is told %s", s.Material)
	}
	b.model.says("Aye.")
	b.drive(b.say("later", "I like milk, too.").Run)
	again := b.open(r)
	if again.Run.Ref != first.Run.Ref || again.Spec.Material != s.Material {
		t.Errorf("opened again: %+v", again)
	}
	if n := b.Number("select count(*) from runs where kind = 'nudge'"); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

// builder records the conversations from which it should build memories.
type builder struct {
	asked []contract.IdleInput
	err   error
}

func (b *builder) Build(_ context.Context, in contract.IdleInput) (string, error) {
	b.asked = append(b.asked, in)
	return "", b.err
}

// The review is stored before memories are built: if that fails, the repeated attempt
// finds the review.
func TestAReviewHasMemoriesBuiltOfItsConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.")
	building := &builder{err: fault.New(fault.Unavailable, "the database went away", "")}
	b.Builder = building
	if _, err := b.OpenNudge(t.Context(), r); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
	building.err = nil
	b.open(r)
	want := contract.IdleInput{Workspace: b.A.ID, WorkspaceKey: b.A.Key, Conversation: r.Conversation}
	if !slices.Equal(building.asked, []contract.IdleInput{want, want}) {
		t.Errorf("asked for %+v", building.asked)
	}
	if n := b.Number("select count(*) from runs where kind = 'nudge'"); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

// The next reply announces the changes of a review, and its messages are not reviewed again.
func TestAReviewSavesAndIsToldOfWithTheNextAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.")
	review := b.open(r)
	b.model.calls(saves("Ada likes tea."))
	b.model.says("Saved.")
	ended := b.drive(review.Run)
	if ended.Status != agentrun.NudgeSaved || len(ended.Writes) != 1 || ended.ReplySeq != -1 || ended.Number != 1 {
		t.Errorf("the review ends with %+v", ended)
	}
	asked := b.model.requests()
	if last := asked[len(asked)-1]; last.Temperature == nil || last.System != review.Spec.System ||
		last.Messages[0].Content != review.Spec.Material {
		t.Errorf("the model was asked %+v", last)
	}
	if done := b.open(r); done.Ended == nil || done.Ended.Status != agentrun.NudgeSaved {
		t.Errorf("opened after its end: %+v", done)
	}
	b.model.says("Aye.", "Aye.")
	b.drive(b.say("m2", "And milk.").Run)
	b.drive(b.say("m3", "And honey.").Run)
	if got := b.answer("m2").Reply; got != "Aye.\n\n(Saved: 1 memory)" {
		t.Errorf("the next answer is %q", got)
	}
	if got := b.answer("m3").Reply; got != "Aye." {
		t.Errorf("the one after it is %q", got)
	}
	r.Number, r.Turn = 3, 3
	s := b.open(r).Spec
	if s.After != 1 || strings.Contains(s.Material, "I like tea.") || !strings.Contains(s.Material, "honey") {
		t.Errorf("the next review is told %s", s.Material)
	}
}

// The next review reads the messages of a failed one.
func TestAFailedReviewLeavesItsTurnsUnread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.")
	b.model.fails(llm.Auth)
	review := b.open(r).Run
	if _, err := b.Step(t.Context(), pgtest.StepInput(review.Ref, 1)); err == nil {
		t.Fatal("a model that is away is no error")
	}
	ended, err := b.Close(t.Context(), pgtest.CloseAgent(review.Ref, agent.ProviderError))
	if err != nil || ended.Status != agentrun.NudgeFailed {
		t.Errorf("the review ends with %+v, %v", ended, err)
	}
	if got := b.Number("select reviewed_turn from conversations"); got != 0 {
		t.Errorf("turn %d counts as read", got)
	}
}

// A review without new messages ends at once, without a model call.
func TestAReviewOfNothingEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.")
	b.Exec("update conversations set reviewed_turn = 1")
	paid := len(b.model.requests())
	for range 2 {
		if got := b.open(r); got.Ended == nil || got.Ended.Status != agentrun.NudgeNothing {
			t.Errorf("opened %+v", got)
		}
	}
	if n := len(b.model.requests()); n != paid {
		t.Errorf("%d requests", n-paid)
	}
}

func TestNoReviewBeginsPastTheCapOfTheDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) { s.Nudge.DailyCap = 1 })
	r := b.talked("I like tea.", "And milk.")
	first := r
	first.Number, first.Turn = 1, 1
	began := b.open(first)
	if got := b.open(r); got.Ended == nil || got.Ended.Status != agentrun.NudgeCapped || got.Run.Ref.Run != "" {
		t.Errorf("opened %+v", got)
	}
	if again := b.open(first); began.Ended != nil || again.Run.Ref != began.Run.Ref || again.Ended != nil {
		t.Errorf("the one that has begun is %+v", again)
	}
	if n := b.Number("select count(*) from runs where kind = 'nudge'"); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

// All requests of a review together stay within its token limit. The review ends with its saved changes.
func TestAReviewEndsWhenItsInputIsSpent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.talked("I like tea.")
	b.NudgeSpec = func() agentrun.Spec {
		s := spec()
		s.Limits.InputTokens = 10
		return s
	}
	ended := b.drive(b.open(r).Run)
	if ended.Status != agentrun.NudgeBudget || ended.Detail != "input_tokens" || ended.Steps != 0 {
		t.Errorf("the review ends with %+v", ended)
	}
}
