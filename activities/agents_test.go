package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memoryagent"
)

// agentService is a fake whose runs have ended with a result, or not.
type agentService struct {
	calls
	over   *run.Run
	handed memoryagent.HandedOff
}

// addService is a fake that adds sessions.
type addService struct{ calls }

func (s *addService) Add(_ context.Context, ws int64, subject string) (memoryagent.AddResult, error) {
	return memoryagent.AddResult{Added: 2, More: true}, s.note("add %d %s", ws, subject)
}

func (s *addService) Close(_ context.Context, ws int64, subject string, reason agent.Reason, code string) error {
	return s.note("close %d %s %s %s", ws, subject, reason, code)
}

func TestAddActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &addService{}
	a, c := Adds{Service: s}, &s.calls
	in := contract.RememberInput{Workspace: 1, Subject: "ab"}
	translates(t, a.AddSessions, in, c, "add 1 ab", contract.AddSessionsResult{Added: 2, More: true})
	calling(t, a.CloseAdds, contract.CloseAddsInput{RememberInput: in, Reason: agent.Interrupted, Code: "cancelled"}, c,
		"close 1 ab interrupted cancelled")
	s.err = fault.New(fault.Unavailable, "away", "")
	_, err := execute(t, a.AddSessions, in)
	checkError(t, "add", err, string(fault.Unavailable), false, false, 0)
}

func (s *agentService) KeepSession(_ context.Context, ref run.Ref) (*run.Run, error) {
	return s.over, s.note("keep %s", of(ref))
}

func (s *agentService) HandOff(
	_ context.Context, ref run.Ref, step, position int, base agentrun.Base,
) (memoryagent.HandedOff, error) {
	return s.handed, s.note("hand off %s %d %d %d", of(ref), step, position, base.Fence)
}

func (s *agentService) RecordHandOff(
	_ context.Context, ref run.Ref, step, position int, runs []string, base agentrun.Base,
) error {
	return s.note("record %s %d %d %v %d", of(ref), step, position, runs, base.Fence)
}

func (s *agentService) TakeTarget(_ context.Context, ref run.Ref) (int64, *run.Run, error) {
	return 8, s.over, s.note("take %s", of(ref))
}

func (s *agentService) FreeTarget(_ context.Context, ref run.Ref, fence int64) error {
	return s.note("free %s %d", of(ref), fence)
}

func (s *agentService) Await(_ context.Context, ref run.Ref) (run.Run, error) {
	err := s.note("await %s", of(ref))
	if s.over == nil {
		return run.Run{}, err
	}
	return *s.over, err
}

func (s *agentService) Rerank(_ context.Context, ref run.Ref) ([]memoryagent.Place, string, error) {
	return []memoryagent.Place{{Candidate: 2, Score: 0.5}}, "half of it", s.note("rerank %s", of(ref))
}

func (s *agentService) Condense(_ context.Context, ref run.Ref, order []memoryagent.Place) error {
	return s.note("condense %s %v", of(ref), order)
}

func (s *agentService) CloseRefine(
	_ context.Context, ref run.Ref, order []memoryagent.Place, problem string,
) error {
	return s.note("close refine %s %v %s", of(ref), order, problem)
}

// ended is the result of ended runs.
var ended = contract.AgentResult{Reason: agent.Final, Steps: 3, Saved: 1, ReplySeq: 4, Status: "saved"}

func overRun(t *testing.T) *run.Run {
	t.Helper()
	raw, err := json.Marshal(run.Result{
		Reason: agent.Final, Steps: 3, Writes: make([]run.Write, 1), ReplySeq: 4, Status: "saved",
	})
	if err != nil {
		t.Fatal(err)
	}
	return &run.Run{Ref: run.Ref{Workspace: 1, Run: "run_7"}, Result: raw}
}

func TestAgentActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &agentService{}
	a, c := Agents{Service: s}, &s.calls
	in := contract.AgentInput{RunRef: runRef}
	tool := contract.ToolInput{RunRef: runRef, Step: 2, Position: 1, Base: contract.ConversationBase{Fence: 8}}
	translates(t, a.KeepSession, in, c, "keep 1/run_7", contract.KeepSessionResult{})
	translates(t, a.TakeTarget, in, c, "take 1/run_7", contract.TakeTargetResult{Fence: 8})
	calling(t, a.FreeTarget, contract.TargetInput{RunRef: runRef, Fence: 8}, c, "free 1/run_7 8")
	calling(t, a.RecordHandOff, contract.RecordHandOffInput{ToolInput: tool, Runs: []string{"run_5", "run_6"}}, c,
		"record 1/run_7 2 1 [run_5 run_6] 8")
	s.handed.Handled = true
	translates(t, a.HandOff, tool, c, "hand off 1/run_7 2 1 8", contract.HandOffResult{Recorded: true})
	s.over = overRun(t)
	translates(t, a.KeepSession, in, c, "keep 1/run_7", contract.KeepSessionResult{Ended: &ended})
	translates(t, a.TakeTarget, in, c, "take 1/run_7", contract.TakeTargetResult{Ended: &ended})
	translates(t, a.AwaitAgent, runRef, c, "await 1/run_7", ended)
}

func TestARunWhoseResultCannotBeReadIsADefect(t *testing.T) {
	t.Parallel()
	s := &agentService{over: &run.Run{Result: json.RawMessage("{")}}
	a := Agents{Service: s}
	_, session := execute(t, a.KeepSession, contract.AgentInput{RunRef: runRef})
	_, target := execute(t, a.TakeTarget, contract.AgentInput{RunRef: runRef})
	_, await := execute(t, a.AwaitAgent, runRef)
	s.handed.Specialists = []run.Run{{Spec: json.RawMessage("{")}}
	_, handOff := execute(t, a.HandOff, contract.ToolInput{RunRef: runRef})
	for name, err := range map[string]error{"session": session, "target": target, "await": await, "hand off": handOff} {
		checkError(t, name, err, string(fault.Internal), false, false, 0)
	}
}

func TestARunThatHasNotEndedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := &agentService{calls: calls{err: fault.New(fault.Unavailable, "run run_7 has not ended yet", "")}}
	_, err := execute(t, Agents{Service: s}.AwaitAgent, runRef)
	checkError(t, "await", err, string(fault.Unavailable), false, false, 0)
}

func TestRefineActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &agentService{}
	a, c := Agents{Service: s}, &s.calls
	order := []contract.Place{{Candidate: 2, Score: 0.5}}
	translates(t, a.RerankFound, runRef, c, "rerank 1/run_7",
		contract.RerankResult{Order: order, Problem: "half of it"})
	calling(t, a.CondenseFound, contract.CondenseInput{RunRef: runRef, Order: order}, c, "condense 1/run_7 [{2 0.5}]")
	translates(t, a.CloseRefine, contract.CloseRefineInput{RunRef: runRef, Order: order, Problem: "none"}, c,
		"close refine 1/run_7 [{2 0.5}] none", contract.RefineResult{Problem: "none"})
}

func TestReadIdleTranslates(t *testing.T) {
	t.Parallel()
	c := &calls{}
	a := Agents{Idle: func(_ context.Context, in contract.IdleInput) (contract.IdleResult, error) {
		return contract.IdleResult{Summarize: "run_5"}, c.note("idle %s", fmt.Sprint(in))
	}}
	in := contract.IdleInput{Workspace: 1, WorkspaceKey: "w1", Conversation: 2}
	translates(t, a.ReadIdle, in, c, "idle {1 w1 2}", contract.IdleResult{Summarize: "run_5"})
}
