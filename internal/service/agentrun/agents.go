package agentrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/tools"
)

// Agent is one more kind of run than turns and reviews. The loop is theirs, too:
// Step, RunTool and Close drive it, and ask here for what is its own.
type Agent interface {
	// Tools of a run, the same to its end.
	Tools(w RunView) (Tools, error)
	// Subject is what the calls of a run work on; an error of code
	// version_conflict ends the run. Fence is of its lease, 0 without one.
	Subject(ctx context.Context, w RunView, fence int64) (agent.MemoryScope, error)
	// Brief is what the model is told before a response, with what is true now.
	// Short asks for less: an endpoint has said that it was too much.
	Brief(ctx context.Context, w RunView, short bool) (PromptInput, error)
	// Finish does what is left when no response follows, before the run is closed.
	// It may be done again: its effects have operation ids of the run's.
	Finish(ctx context.Context, w RunView, e RunResult) (json.RawMessage, error)
	// Result fills in Status and Report from all that the run has done, and from
	// what Finish has returned. It has no effect.
	Result(w RunView, finished json.RawMessage, e *RunResult) (run.Outcome, error)
}

// RunView is a run as its Agent sees it.
type RunView struct {
	Run   run.Run
	Spec  Spec
	Steps []Step
}

// PromptInput is a request without what the run itself has said and done.
type PromptInput struct {
	System     string
	Messages   []llm.Message
	Unthinking bool // the endpoint is asked not to reason before it answers
}

func (st *runState) work() RunView { return RunView{st.run, st.spec, st.steps} }

// resolveAgent finds out whose run it is.
func (s *Service) resolveAgent(st *runState) (err error) {
	st.tools = s.turnTools(st.spec)
	if a, found := s.Agents[st.run.Kind]; found {
		st.agent = a
		st.tools, err = a.Tools(st.work())
	}
	return err
}

// turnTools are what the agent that answers turns can do.
func (s *Service) turnTools(spec Spec) Tools {
	if spec.Agent == settings.Remy {
		return chosen{s.MemoryAgentTools, spec.Toolsets}
	}
	return chosen{s.Tools, spec.Toolsets}
}

// chosen are tools without those of groups that were not chosen.
type chosen struct {
	Tools
	sets []agent.ToolSet
}

func (c chosen) Offered(o agent.Origin, names ...string) []agent.ToolSpec {
	return slices.DeleteFunc(c.Tools.Offered(o, names...), func(t agent.ToolSpec) bool {
		return t.Set != "" && !slices.Contains(c.sets, t.Set)
	})
}

func (c chosen) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error) {
	if len(c.Tools.Offered(a.Origin, name)) > 0 && len(c.Offered(a.Origin, name)) == 0 {
		return tools.Failure(fault.New(fault.UnknownTool, name+" is not offered in this conversation", "")), nil
	}
	return c.Tools.Call(ctx, a, name, arguments)
}

// withdrawn tells whether a tool is not offered in step n: nobody reflects twice
// in a row.
func (st *runState) withdrawn(tool string, n int) bool {
	if st.agent == nil || tool != tools.Think {
		return false
	}
	before, _ := st.step(n - 1)
	return slices.ContainsFunc(before.Calls, func(c Call) bool {
		return c.Tool == tools.Think && c.Code != string(agent.SkipUnknownTool)
	})
}

// offered are the tools of step n.
func (st *runState) offered(n int) []agent.ToolSpec {
	return slices.DeleteFunc(st.tools.Offered(st.spec.Origin), func(t agent.ToolSpec) bool {
		return st.withdrawn(t.Name, n)
	})
}

// class is how a tool runs in this run. With a pause between them calls are
// activities, which the workflow can put a timer between.
func (st *runState) class(c agent.Class) agent.Class {
	if st.spec.Interval > 0 && c == agent.Fast {
		return agent.Slow
	}
	return c
}

// sequence is the order in which calls run, by their positions: as the model made
// them, or in the order of the tools.
func (st *runState) sequence(calls []Call) []int {
	out := make([]int, len(calls))
	for i := range out {
		out[i] = i
	}
	if !st.spec.Ordered {
		return out
	}
	specs := st.tools.Offered(st.spec.Origin)
	place := func(tool string) int {
		return slices.IndexFunc(specs, func(t agent.ToolSpec) bool { return t.Name == tool })
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(place(calls[a].Tool), place(calls[b].Tool)) })
	return out
}

// brief asks for the request of a run that has an Agent.
func (s *Service) brief(ctx context.Context, st *runState, step agent.Step, note string, short bool) (llm.Request,
	error) {
	told, err := st.agent.Brief(ctx, st.work(), short)
	if err != nil {
		return llm.Request{}, err
	}
	since, _ := st.reached(step.N)
	r := st.request(step, note, since, short)
	r.NoReasoning = told.Unthinking
	r.System, r.Tools = told.System, offered(st.offered(step.N))
	r.Messages = slices.Concat(told.Messages, r.Messages)
	return r, nil
}

// subject reads what the run works on, once for each activity.
func (s *Service) subject(ctx context.Context, st *runState, base Base) (err error) {
	if st.agent != nil {
		st.subject, err = st.agent.Subject(ctx, st.work(), base.Fence)
	}
	return err
}

// closeAgent ends a run that has an Agent.
func (s *Service) closeAgent(ctx context.Context, st *runState, e ending) (out *RunResult, err error) {
	text := func() string {
		if e.answer != "" {
			return e.answer
		}
		for _, s := range slices.Backward(st.steps) {
			if s.Content != "" {
				return s.Content
			}
		}
		return ""
	}
	finished, err := st.agent.Finish(ctx, st.work(), RunResult{Reason: e.reason, Detail: e.detail, Text: text()})
	if err != nil {
		return nil, err
	}
	err = s.Store.WithRuns(ctx, st.run.Workspace, func(ctx context.Context, tx Tx) error {
		over, err := st.settle(ctx, tx, e, nil)
		if err != nil {
			return err
		}
		if over {
			out, err = st.ended()
			return err
		}
		out = &RunResult{Reason: e.reason, Detail: e.detail, Steps: len(st.steps), ReplySeq: -1, Text: text()}
		outcome, err := st.agent.Result(st.work(), finished, out)
		if err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, st.run.Ref.Run, outcome, out.Status, out)
	})
	return out, err
}

// Reach runs the calls of a response that come before a control call, then that
// call, and returns its result without storing it: what follows from it is for
// the workflow. Told is true when the call has a result already.
func (s *Service) Reach(ctx context.Context, ref run.Ref, n, position int, base Base) (w RunView, result tools.Result,
	told bool, err error) {
	st, c, err := s.control(ctx, ref, n, position)
	if err != nil || st.run.Status == run.Ended || c.Done {
		return st.work(), result, true, err
	}
	if err = s.subject(ctx, st, base); err != nil {
		return st.work(), result, false, err
	}
	at := slices.IndexFunc(st.steps, func(s Step) bool { return s.N == n })
	for _, i := range st.sequence(st.steps[at].Calls) {
		if before := &st.steps[at].Calls[i]; !before.Done && before.Class == agent.Fast {
			if err := s.runCall(ctx, st, before); err != nil {
				return st.work(), result, false, err
			}
		}
	}
	if st.judge(*c) == "" {
		var unrun agent.SkipReason
		if result, unrun, err = s.use(ctx, st, *c); err != nil || result.OK {
			return st.work(), result, false, err
		}
		if unrun == "" {
			return st.work(), result, true, s.Tell(ctx, ref, n, position, result)
		}
	}
	return st.work(), result, true, s.runCall(ctx, st, c)
}

// Tell stores what the model is told of a control call.
func (s *Service) Tell(ctx context.Context, ref run.Ref, n, position int, result tools.Result) error {
	st, c, err := s.control(ctx, ref, n, position)
	if err != nil || st.run.Status == run.Ended || c.Done {
		return err
	}
	c.Result, c.Code = string(result.JSON), string(result.Code)
	return s.whileOpen(ctx, st, func(ctx context.Context, tx Tx) error {
		_, err := tx.Steps().EndCall(ctx, ref.Run, *c)
		return err
	})
}

func (s *Service) control(ctx context.Context, ref run.Ref, n, position int) (*runState, *Call, error) {
	st, err := s.loadRun(ctx, ref)
	if err != nil || st.run.Status == run.Ended {
		return st, &Call{}, err
	}
	at := slices.IndexFunc(st.steps, func(s Step) bool { return s.N == n })
	if at < 0 || position >= len(st.steps[at].Calls) {
		return st, &Call{}, fault.New(fault.NotFound,
			fmt.Sprintf("run %d has no call %d in step %d", ref.Run, position, n), "")
	}
	return st, &st.steps[at].Calls[position], nil
}
