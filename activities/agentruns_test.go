package activities

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
)

// conversationService is a fake whose results a test sets.
type conversationService struct {
	calls
	stepped   agentrun.StepResult
	reviewing agentrun.Reviewing
}

func (s *conversationService) ended() *run.Result {
	return &run.Result{
		Reason: agent.Final, Steps: 3, Writes: make([]run.Write, 1), ReplySeq: 4, Status: "saved",
	}
}

func (s *conversationService) Step(
	_ context.Context, ref run.Ref, step agent.Step, base agentrun.Base,
) (agentrun.StepResult, error) {
	return s.stepped, s.note("step %s %d %t", of(ref), step.N, base.Compacts)
}

func (s *conversationService) Transcribe(_ context.Context, ref run.Ref) error {
	return s.note("transcribe %s", of(ref))
}

func (s *conversationService) RunTool(
	_ context.Context, ref run.Ref, step, position int, base agentrun.Base,
) error {
	return s.note("tool %s %d %d %d", of(ref), step, position, base.Fence)
}

func (s *conversationService) Close(
	_ context.Context, ref run.Ref, reason agent.Reason, detail string, base agentrun.Base,
) (*run.Result, error) {
	if err := s.note("close %s %s %q %t", of(ref), reason, detail, base.Known); err != nil {
		return nil, err
	}
	return s.ended(), nil
}

func (s *conversationService) Await(_ context.Context, ref run.Ref) (*run.Result, error) {
	return s.ended(), s.note("await %s", of(ref))
}

func (s *conversationService) OpenNudge(
	_ context.Context, r agentrun.Review,
) (agentrun.Reviewing, error) {
	return s.reviewing, s.note("review %d %s %d %d %d %t %t %d", r.Workspace, r.WorkspaceKey, r.Conversation,
		r.Number, r.Turn, r.Memory, r.Skill, r.Counters.Total)
}

func (s *conversationService) CloseConversation(
	_ context.Context, ws, id int64, counters nudge.Counters, byUser bool,
) error {
	return s.note("close conversation %d %d %d %t", ws, id, counters.Total, byUser)
}

func TestConversationActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &conversationService{}
	a, c := AgentRuns{Service: s, Closer: s}, &s.calls
	known := contract.ConversationBase{Known: true, Fence: 8, Compacts: true}
	step := contract.StepInput{RunRef: runRef, Step: agent.Step{N: 2}, Base: known}
	s.stepped.Calls = []agent.CallRef{{Index: 1, Tool: "fetch", Class: agent.Slow}}
	var more contract.StepResult
	more.Calls = s.stepped.Calls
	translates(t, a.Step, step, c, "step 1/run_7 2 true", more)
	s.stepped = agentrun.StepResult{Ended: s.ended()}
	translates(t, a.Step, step, c, "step 1/run_7 2 true", contract.StepResult{Ended: &ended})
	offload := contract.OffloadToStart{WorkflowID: "offload/w1/o", Input: contract.OffloadInput{Groups: 3}}
	s.stepped = agentrun.StepResult{
		Overflow: &agentrun.CompactionPlan{WorkflowID: offload.WorkflowID, Input: offload.Input},
	}
	translates(t, a.Step, step, c, "step 1/run_7 2 true", contract.StepResult{Overflow: &offload})
	calling(t, a.Transcribe, runRef, c, "transcribe 1/run_7")
	calling(t, a.RunTool, contract.ToolInput{RunRef: runRef, Step: 2, Position: 1, Base: known}, c,
		"tool 1/run_7 2 1 8")
	translates(t, a.CloseAgent,
		contract.CloseAgentInput{RunRef: runRef, Reason: agent.WallClock, Detail: "unavailable", Base: known}, c,
		`close 1/run_7 wall_clock "unavailable" true`, ended)
	translates(t, a.CountTurn, contract.CountInput{RunRef: runRef}, c, `close 1/run_7 observed "" false`, ended)
	translates(t, a.AwaitTurn, runRef, c, "await 1/run_7", ended)
	calling(t, a.CloseConversation, contract.CloseConversationInput{
		Workspace: 1, Conversation: 2, Ended: true, Counters: nudge.Counters{Total: 5},
	}, c, "close conversation 1 2 5 true")
}

func TestARunThatCannotBeClosedIsToldAsItsFault(t *testing.T) {
	t.Parallel()
	s := &conversationService{calls: calls{err: fault.New(fault.NotFound, "no run run_7", "")}}
	_, err := execute(t, AgentRuns{Service: s}.CloseAgent, contract.CloseAgentInput{RunRef: runRef})
	checkError(t, "close", err, string(fault.NotFound), true, false, 0)
}

func TestOpenNudgePinsAReview(t *testing.T) {
	t.Parallel()
	s := &conversationService{}
	s.reviewing.Run = run.Run{Ref: run.Ref{Workspace: 1, Run: "run_9"}, Attempt: 3}
	s.reviewing.Spec.Budget = agent.ForNudge()
	a := AgentRuns{
		Service: s, Spec: func() agentrun.Spec { return agentrun.Spec{} },
	}
	in := contract.NudgeInput{
		Workspace: 1, WorkspaceKey: "w1", Conversation: 2, Number: 10, Turn: 12, Memory: true,
		Counters: nudge.Counters{Total: 10},
	}
	want := contract.OpenNudgeResult{
		RunRef: contract.RunRef{Workspace: 1, WorkspaceKey: "w1", Run: "run_9", Attempt: 3}, Budget: agent.ForNudge(),
	}
	translates(t, a.OpenNudge, in, &s.calls, "review 1 w1 2 10 12 true false 10", want)
	s.reviewing.Ended, want.Ended = s.ended(), &ended
	translates(t, a.OpenNudge, in, &s.calls, "review 1 w1 2 10 12 true false 10", want)
}

// approver is a fake that approves or rejects changes.
type approver struct{ calls }

func (a *approver) Decide(_ context.Context, ws, pending int64, approve bool) (int64, int, error) {
	return 3, 4, a.note("decide %d %d %t", ws, pending, approve)
}

func TestApproveWriteTranslates(t *testing.T) {
	t.Parallel()
	p := &approver{}
	a := AgentRuns{Approver: p}
	in := contract.ApproveWriteInput{Workspace: 1, Pending: 6, Approve: true}
	translates(t, a.ApproveWrite, in, &p.calls, "decide 1 6 true", contract.ApproveWriteResult{Skill: 3, Version: 4})
}
