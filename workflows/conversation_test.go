package workflows_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/workflows"
)

// talk is a Conversation with the updates sent to it.
type talk struct {
	*environment
	in contract.ConversationInput
}

// newTalk returns a conversation whose turns take a minute each and are eligible.
func newTalk(t *testing.T) *talk {
	t.Helper()
	c := &talk{newEnvironment(t, &testsuite.WorkflowTestSuite{}), contract.ConversationInput{
		Workspace: 1, WorkspaceKey: "w1", Conversation: 2, Channel: "sms",
		Limits: contract.ConversationLimits{Close: 24 * time.Hour, Turns: 500},
	}}
	c.RegisterWorkflowWithOptions(c.answer, // receives a cancellation, unlike a mock
		workflow.RegisterOptions{Name: contract.Turn, DisableAlreadyRegisteredCheck: true})
	on(c.environment, contract.CloseAgent, func(in contract.CloseAgentInput) (contract.AgentResult, error) {
		return contract.AgentResult{Reason: in.Reason, ReplySeq: -1}, nil
	})
	does[contract.CloseConversationInput](c.environment, contract.CloseConversation)
	return c
}

// answer is the child workflow of a turn.
func (c *talk) answer(ctx workflow.Context, in contract.AgentInput) (out contract.AgentResult, err error) {
	if err := c.called(contract.Turn, in); err != nil {
		return out, err
	}
	if err := workflow.Sleep(ctx, time.Minute); err != nil {
		return contract.AgentResult{Reason: agent.Interrupted, ReplySeq: -1}, nil
	}
	counters := in.Base.Counters
	counters.Total, counters.Memory = counters.Total+1, counters.Memory+1
	return contract.AgentResult{
		Reason: agent.Final, Steps: 1, ReplySeq: in.Number, Counters: counters, MayNudge: true,
	}, nil
}

// reply is the result of an update.
type reply struct {
	rejected, failed error
	result           any
	at               time.Time
}

// say sends an update after a delay.
func (c *talk) say(after time.Duration, update, id string, in ...any) *reply {
	r := &reply{}
	c.RegisterDelayedCallback(func() {
		c.UpdateWorkflow(update, id, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { r.rejected = err },
			OnComplete: func(result any, err error) {
				r.result, r.failed, r.at = result, err, c.Now()
			},
		}, in...)
	}, after)
	return r
}

// message returns the turn of a message. Run run_101 replies to message 1.
func message(n int) contract.TurnRef {
	id := "m" + string(rune('0'+n))
	return contract.TurnRef{
		Number: n, MessageID: id, Mode: contract.Answer, Run: fmt.Sprint("run_10", n), Attempt: 1,
		WorkflowID: "turn/w1/2/" + id,
		Budget:     agent.Budget{Max: 3, Wall: 2 * time.Minute}, Timeouts: timeouts(), Settings: nudge.Default(),
	}
}

// tell sends messages after a delay.
func (c *talk) tell(after time.Duration, turns ...contract.TurnRef) (out []*reply) {
	for _, t := range turns {
		out = append(out, c.say(after, contract.UpdateTurn, t.MessageID+after.String(), t))
	}
	return out
}

// signal sends a signal after a delay.
func (c *talk) signal(after time.Duration, name string, in any) {
	c.RegisterDelayedCallback(func() { c.SignalWorkflow(name, in) }, after)
}

func (c *talk) run() { c.ExecuteWorkflow(workflows.Conversation, c.in) }

// turn returns the result of an update for a message.
func (r *reply) turn(t *testing.T) contract.TurnResult {
	t.Helper()
	out, ok := r.result.(contract.TurnResult)
	if !ok || r.rejected != nil || r.failed != nil {
		t.Fatalf("rejected %v, failed %v, result %+v", r.rejected, r.failed, r.result)
	}
	return out
}

func (c *talk) view() (out contract.ConversationView) {
	c.t.Helper()
	raw, err := c.QueryWorkflow(contract.QueryState)
	if err == nil {
		err = raw.Get(&out)
	}
	if err != nil {
		c.t.Error(err)
	}
	return out
}

func TestConversationAnswersMessagesOneAfterAnother(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	replies := c.tell(time.Second, message(1), message(2))
	c.run()
	if err := c.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for n, r := range replies {
		want := contract.TurnResult{Number: n + 1, Reason: agent.Final, Steps: 1, ReplySeq: n + 1}
		if out := r.turn(t); out != want {
			t.Errorf("message %d: %+v", n+1, out)
		}
	}
	if apart := replies[1].at.Sub(replies[0].at); apart != time.Minute {
		t.Errorf("answered %s apart", apart)
	}
	second := inputsOf[contract.AgentInput](c.environment, contract.Turn)[1]
	if second.Run != "run_102" || !second.Base.Known || second.Base.Counters.Total != 1 ||
		second.Queue != contract.QueueLLM {
		t.Errorf("%+v", second)
	}
	closing := only[contract.CloseConversationInput](c.environment, contract.CloseConversation)
	if closing.Counters.Total != 2 || closing.Ended {
		t.Errorf("closed with %+v", closing)
	}
}

func TestConversationAnswersAMessageOnce(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.tell(time.Second, message(1))
	again := c.tell(5*time.Minute, message(1))
	c.run()
	if out := again[0].turn(t); !out.Known {
		t.Errorf("%+v", out)
	}
	only[contract.AgentInput](c.environment, contract.Turn)
}

func TestConversationRejectsTurnsThatNameNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*contract.TurnRef){
		"message": func(m *contract.TurnRef) { m.MessageID = "" },
		"run":     func(m *contract.TurnRef) { m.Run = "" },
		"mode":    func(m *contract.TurnRef) { m.Mode = "shout" },
	} {
		c := newTalk(t)
		m := message(1)
		spoil(&m)
		r := c.tell(time.Second, m)[0]
		c.run()
		var app *temporal.ApplicationError
		if !errors.As(r.rejected, &app) || app.Type() != "invalid_argument" {
			t.Errorf("%s: rejected with %v", name, r.rejected)
		}
		if c.calls(contract.Turn) != 0 {
			t.Errorf("%s: it was answered", name)
		}
	}
}

func TestConversationCountsWhatAnotherHasAnswered(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	gives[contract.CountInput](c.environment, contract.CountTurn,
		contract.AgentResult{Reason: contract.Observed, ReplySeq: -1, Counters: nudge.Counters{Total: 1}})
	m := message(1)
	m.Mode = contract.Observe
	r := c.tell(time.Second, m)[0]
	c.faults[contract.CountTurn] = once()
	c.run()
	if out := r.turn(t); out.Reason != contract.Observed || c.calls(contract.Turn) != 0 {
		t.Errorf("%+v", out)
	}
}

func TestConversationTellsThatATurnIsLost(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.faults[contract.Turn] = func() error {
		if c.calls(contract.Turn) == 1 {
			return refuses()
		}
		return nil
	}
	lost := c.tell(time.Second, message(1))[0]
	again := c.tell(time.Hour, message(1))[0]
	c.run()
	var app *temporal.ApplicationError
	if !errors.As(lost.failed, &app) || app.Type() != contract.TurnLost {
		t.Errorf("failed with %v", lost.failed)
	}
	if out := again.turn(t); out.Known || out.Reason != agent.Final {
		t.Errorf("brought again: %+v", out)
	}
}

func TestConversationEndsWhenItsRowsAreGone(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"not_found", "erasing"} {
		c := newTalk(t)
		c.faults[contract.Turn] = func() error { return temporal.NewNonRetryableApplicationError("gone", code, nil) }
		c.tell(time.Second, message(1))
		begun := c.Now()
		c.run()
		if err := c.GetWorkflowError(); err != nil || c.Now().Sub(begun) > time.Minute {
			t.Errorf("%s: ended after %s with %v", code, c.Now().Sub(begun), err)
		}
		if c.calls(contract.CloseConversation) != 0 {
			t.Errorf("%s: what is gone was written down", code)
		}
	}
}

func TestConversationWaitsForATurnThatRunsAlready(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.faults[contract.Turn] = alreadyStarted
	gives[contract.RunRef](c.environment, contract.AwaitTurn, answer())
	r := c.tell(time.Second, message(1))[0]
	c.run()
	if out := r.turn(t); out.ReplySeq != answer().ReplySeq {
		t.Errorf("%+v", out)
	}
	if ref := only[contract.RunRef](c.environment, contract.AwaitTurn); ref.Run != "run_101" ||
		ref.WorkspaceKey != "w1" {
		t.Errorf("%+v", ref)
	}
}

func TestConversationCancelsTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after   time.Duration
		message string
		answers []agent.Reason
		turns   int
	}{
		"whichever is answered": {30 * time.Second, "", []agent.Reason{agent.Interrupted, agent.Final}, 2},
		"that is answered":      {30 * time.Second, "m1", []agent.Reason{agent.Interrupted, agent.Final}, 2},
		"that waits":            {30 * time.Second, "m2", []agent.Reason{agent.Final, agent.Interrupted}, 1},
		"before it came":        {time.Millisecond, "m2", []agent.Reason{agent.Final, agent.Interrupted}, 1},
		"of another message":    {30 * time.Second, "m9", []agent.Reason{agent.Final, agent.Final}, 2},
	} {
		talk := newTalk(t)
		talk.signal(c.after, contract.SignalCancelTurn, contract.CancelTurnInput{MessageID: c.message})
		replies := talk.tell(time.Second, message(1), message(2))
		talk.run()
		for n, r := range replies {
			if out := r.turn(t); out.Reason != c.answers[n] {
				t.Errorf("%s: message %d: %+v", name, n+1, out)
			}
		}
		if n := talk.calls(contract.Turn); n != c.turns {
			t.Errorf("%s: %d turns", name, n)
		}
	}
}

// reviewing returns a conversation in which each turn makes a review due.
func reviewing(t *testing.T) (*talk, contract.TurnRef) {
	c := newTalk(t)
	child(c.environment, contract.Nudge, func(contract.NudgeInput) (contract.NudgeResult, error) {
		return contract.NudgeResult{}, nil
	})
	m := message(1)
	m.Settings.Every = 1
	return c, m
}

func TestConversationStartsAReviewThatIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    func() error
		inFlight int
	}{"started": {nil, 1}, "started before": {alreadyStarted, 1}} {
		talk, m := reviewing(t)
		talk.faults[contract.Nudge] = c.fault
		talk.tell(time.Second, m)
		var view contract.ConversationView
		talk.RegisterDelayedCallback(func() { view = talk.view() }, 2*time.Minute)
		talk.run()
		in := only[contract.NudgeInput](talk.environment, contract.Nudge)
		if in.Number != 1 || in.Turn != 1 || !in.Memory || in.Counters.InFlight != 1 || in.Parent == "" {
			t.Errorf("%s: %+v", name, in)
		}
		if view.Counters.InFlight != c.inFlight || view.Counters.Memory != 0 {
			t.Errorf("%s: %+v", name, view)
		}
	}
}

func TestConversationHearsOfItsReviews(t *testing.T) {
	t.Parallel()
	for status, reviewed := range map[string]int{"saved": 1, "nothing": 1, "failed": 0, "capped": 0} {
		talk, m := reviewing(t)
		talk.tell(time.Second, m)
		talk.signal(2*time.Minute, contract.SignalNudgeDone, contract.NudgeResult{Number: 1, Status: status})
		var view contract.ConversationView
		talk.RegisterDelayedCallback(func() { view = talk.view() }, 3*time.Minute)
		talk.run()
		if view.Counters.InFlight != 0 || view.Counters.LastReviewed != reviewed {
			t.Errorf("%s: %+v", status, view.Counters)
		}
	}
}

func TestConversationGivesUpOnAReviewThatIsNotHeardOf(t *testing.T) {
	t.Parallel()
	talk, m := reviewing(t)
	second := message(2)
	second.Settings = m.Settings
	talk.tell(time.Second, m)
	talk.tell(time.Hour, second)
	talk.run()
	if all := inputsOf[contract.NudgeInput](talk.environment, contract.Nudge); len(all) != 2 || all[1].Number != 2 {
		t.Errorf("%+v", all)
	}
}

func TestConversationFollowsSettings(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	idle := 20 * time.Minute
	changed := nudge.Settings{Every: 3, DailyCap: 4}
	c.tell(time.Second, message(1))
	c.signal(2*time.Minute, contract.SignalSettings, contract.SettingsInput{Settings: changed, Idle: &idle})
	gives[contract.IdleInput](c.environment, contract.ReadIdle, contract.IdleResult{})
	var view contract.ConversationView
	c.RegisterDelayedCallback(func() { view = c.view() }, 3*time.Minute)
	c.run()
	if view.Settings != changed || view.Turns != 1 || view.Busy != 0 || view.Answers != "" {
		t.Errorf("%+v", view)
	}
}

func TestConversationShowsWhatItAnswers(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.tell(time.Second, message(1), message(2))
	var view contract.ConversationView
	c.RegisterDelayedCallback(func() { view = c.view() }, 30*time.Second)
	c.run()
	if view.Answers != "m1" || view.Busy != 2 || view.Turns != 0 {
		t.Errorf("%+v", view)
	}
}

func TestConversationIsReadOnceAfterItWasIdle(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{"read": nil, "refused": refuses, "retried": once()} {
		c := newTalk(t)
		gives[contract.IdleInput](c.environment, contract.ReadIdle, contract.IdleResult{Summarize: "run_5"})
		c.faults[contract.ReadIdle] = fault
		m := message(1)
		m.Idle = 30 * time.Minute
		c.tell(time.Second, m)
		c.run()
		if err := c.GetWorkflowError(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := 1
		if name == "retried" {
			want = 2
		}
		if n := c.calls(contract.ReadIdle); n != want {
			t.Errorf("%s: read %d times", name, n)
		}
	}
}

func TestConversationOfWhichNothingIsHeardEndsAsItIs(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	begun := c.Now()
	c.run()
	if err := c.GetWorkflowError(); err != nil || c.Now().Sub(begun) != c.in.Limits.Close {
		t.Errorf("ended after %s with %v", c.Now().Sub(begun), err)
	}
	if c.calls(contract.CloseConversation) != 0 {
		t.Error("its row was written")
	}
}

func TestConversationIsEndedByItsUser(t *testing.T) {
	t.Parallel()
	talk, m := reviewing(t)
	talk.in.State = contract.ConversationState{
		Known: true, Counters: nudge.Counters{Total: 5}, Settings: nudge.Default(),
	}
	m.Settings.Every = 100
	talk.tell(time.Second, m)
	r := talk.say(2*time.Minute, contract.UpdateEnd, "end")
	begun := talk.Now()
	talk.run()
	if view, ok := r.result.(contract.ConversationView); !ok || view.Counters.Total != 6 {
		t.Errorf("%+v", r)
	}
	if took := talk.Now().Sub(begun); took > 10*time.Minute {
		t.Errorf("ended after %s", took)
	}
	if in := only[contract.NudgeInput](talk.environment, contract.Nudge); !in.Memory || !in.Skill || in.Turn != 1 {
		t.Errorf("reviewed %+v", in)
	}
	closing := only[contract.CloseConversationInput](talk.environment, contract.CloseConversation)
	if !closing.Ended || closing.Counters.InFlight != 6 {
		t.Errorf("closed with %+v", closing)
	}
}

func TestConversationDecidesAboutWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func() error
		fails bool
	}{"approved": {}, "retried": {fault: once()}, "refused": {refuses, true}} {
		talk := newTalk(t)
		gives[contract.ApproveWriteInput](talk.environment, contract.ApproveWrite,
			contract.ApproveWriteResult{Skill: 4, Version: 2})
		talk.faults[contract.ApproveWrite] = c.fault
		r := talk.say(time.Second, contract.UpdateApproveWrite, "a",
			contract.ApproveWriteInput{Workspace: 99, Pending: 6, Approve: true})
		talk.run()
		out, _ := r.result.(contract.ApproveWriteResult)
		if (r.failed != nil) != c.fails || !c.fails && out.Version != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		in := inputsOf[contract.ApproveWriteInput](talk.environment, contract.ApproveWrite)[0]
		if in.Workspace != 1 || in.Pending != 6 { // the workspace is that of the conversation
			t.Errorf("%s: %+v", name, in)
		}
	}
}

func TestConversationContinuesAsNewWithAllThatItKnows(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.in.Limits.Turns = 1
	c.signal(time.Millisecond, contract.SignalCancelTurn, contract.CancelTurnInput{MessageID: "m8"})
	replies := c.tell(time.Second, message(1), message(2))
	late := c.tell(90*time.Second, message(3))[0]
	approve := c.say(90*time.Second, contract.UpdateApproveWrite, "a", contract.ApproveWriteInput{})
	end := c.say(90*time.Second, contract.UpdateEnd, "e")
	c.run()
	in := next[contract.ConversationInput](c.environment)
	state := in.State
	if !slices.Equal(state.Seen, nudge.RecentIDs{"m1", "m2"}) || state.LastNumber != 2 || state.Counters.Total != 2 ||
		!slices.Equal(state.Stopped, []string{"m8"}) || state.Timeouts != timeouts() || in.Limits != c.in.Limits {
		t.Errorf("goes on with %+v", in)
	}
	for _, r := range replies { // accepted updates complete first
		r.turn(t)
	}
	for name, r := range map[string]*reply{"message": late, "decision": approve, "end": end} {
		var app *temporal.ApplicationError
		if !errors.As(r.rejected, &app) || app.Type() != contract.RollingOver {
			t.Errorf("%s: rejected with %v", name, r.rejected)
		}
	}
}

func TestConversationContinuesAsNewWhenTheServerSaysSo(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.tell(time.Second, message(1))
	c.RegisterDelayedCallback(func() { c.SetContinueAsNewSuggested(true) }, 10*time.Second)
	c.run()
	in := next[contract.ConversationInput](c.environment)
	if in.State.LastNumber != 1 || c.calls(contract.CloseConversation) != 0 {
		t.Errorf("goes on with %+v", in)
	}
}

func TestConversationThatIsCancelledEnds(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.RegisterDelayedCallback(c.CancelWorkflow, time.Minute)
	c.run()
	if err := c.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
}
