package agentrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// Agent implements a kind of run other than turns and reviews. Step, RunTool and Close drive the
// run and call the Agent for what differs between kinds.
type Agent interface {
	// Tools returns the tools of a run. They do not change during the run.
	Tools(w RunView) (Tools, error)
	// Subject returns the memory scope of the run's calls. An error with code version_conflict ends
	// the run. Fence is the fencing token of the run's lease, 0 without a lease.
	Subject(ctx context.Context, w RunView, fence int64) (agent.MemoryScope, error)
	// Brief returns the instructions and the current data for the next response. Short asks for
	// less input because an endpoint has rejected the request as too long.
	Brief(ctx context.Context, w RunView, short bool) (PromptInput, error)
	// Finish does the remaining work before the run is closed, when no further response follows. It
	// may be repeated: its effects use operation IDs of the run.
	Finish(ctx context.Context, w RunView, e run.Result) (json.RawMessage, error)
	// Result sets Status and Report from the steps of the run and the result of Finish. It has no
	// side effects.
	Result(w RunView, finished json.RawMessage, e *run.Result) (run.Outcome, error)
}

// RunView is the part of a run that its Agent can read.
type RunView struct {
	Run   run.Run
	Spec  Spec
	Steps []run.Step
}

// PromptInput is a request without the steps of the run itself.
type PromptInput struct {
	System     string
	Messages   []llm.Message
	Unthinking bool // asks the endpoint not to reason before it replies
}

func (st *runState) work() RunView { return RunView{st.run, st.spec, st.steps} }

// resolveAgent finds the Agent of the run and its tools.
func (s *Service) resolveAgent(st *runState) (err error) {
	st.tools = s.turnTools(st.spec)
	if a, found := s.Agents[st.run.Kind]; found {
		st.agent = a
		st.tools, err = a.Tools(st.work())
	}
	return err
}

// turnTools returns the tools of the agent that answers turns.
func (s *Service) turnTools(spec Spec) Tools {
	if spec.Agent == settings.Remy {
		return chosen{s.MemoryAgentTools, spec.Toolsets, spec.Denied}
	}
	return chosen{s.Tools, spec.Toolsets, spec.Denied}
}

// chosen filters tools: it hides the tool groups that the workspace did not choose, and the denied tools.
type chosen struct {
	Tools
	sets   []agent.ToolSet
	denied []string
}

func (c chosen) Offered(o agent.Origin, names ...string) []agent.ToolSpec {
	return slices.DeleteFunc(c.Tools.Offered(o, names...), func(t agent.ToolSpec) bool {
		return t.Set != "" && !slices.Contains(c.sets, t.Set) || slices.Contains(c.denied, t.Name)
	})
}

func (c chosen) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error) {
	if len(c.Tools.Offered(a.Origin, name)) > 0 && len(c.Offered(a.Origin, name)) == 0 {
		return tools.Failure(fault.New(fault.UnknownTool, name+" is not offered in this conversation", "")), nil
	}
	return c.Tools.Call(ctx, a, name, arguments)
}

// withdrawn reports whether a tool is not offered in step n. A think call may not follow another one.
func (st *runState) withdrawn(tool string, n int) bool {
	if st.agent == nil || tool != tools.Think {
		return false
	}
	before, _ := st.step(n - 1)
	return slices.ContainsFunc(before.Calls, func(c run.ToolCall) bool {
		return c.Tool == tools.Think && c.Code != string(agent.SkipUnknownTool)
	})
}

// offered returns the tools of step n.
func (st *runState) offered(n int) []agent.ToolSpec {
	return slices.DeleteFunc(st.tools.Offered(st.spec.Origin), func(t agent.ToolSpec) bool {
		return st.withdrawn(t.Name, n)
	})
}

// class returns how a tool runs in this run. If the run has an interval between calls, each call is
// an activity, so that the workflow can put a timer between two calls.
func (st *runState) class(c agent.Class) agent.Class {
	if st.spec.Interval > 0 && c == agent.Fast {
		return agent.Slow
	}
	return c
}

// sequence returns the positions of calls in the order in which they run: the order of the
// response, or the order of the tools if the run is ordered.
func (st *runState) sequence(calls []run.ToolCall) []int {
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

// brief builds the request of a run that has an Agent.
func (s *Service) brief(ctx context.Context, st *runState, step agent.Step, note string, short bool) (llm.Request,
	error) {
	input, err := st.agent.Brief(ctx, st.work(), short)
	if err != nil {
		return llm.Request{}, err
	}
	since, _ := st.reached(step.N)
	r := st.request(step, note, since, short)
	r.NoReasoning = input.Unthinking
	r.System, r.Tools = input.System, slices.Concat(offered(st.offered(step.N)), st.spec.Client.Tools)
	r.Messages = slices.Concat(input.Messages, r.Messages)
	return r, nil
}

// subject reads the memory scope of the run's calls, once per activity.
func (s *Service) subject(ctx context.Context, st *runState, base contract.ConversationBase) (err error) {
	if st.agent != nil {
		st.subject, err = st.agent.Subject(ctx, st.work(), base.Fence)
	}
	return err
}

// closeAgent ends a run that has an Agent.
func (s *Service) closeAgent(ctx context.Context, st *runState, e ending) (out *run.Result, err error) {
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
	finished, err := st.agent.Finish(ctx, st.work(), run.Result{Reason: e.reason, Detail: e.detail, Text: text()})
	if err != nil {
		return nil, err
	}
	err = s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		over, err := st.settle(ctx, tx, e, nil)
		if err != nil {
			return err
		}
		if over {
			out, err = st.ended()
			return err
		}
		out = &run.Result{Reason: e.reason, Detail: e.detail, Steps: len(st.steps), ReplySeq: -1, Text: text()}
		outcome, err := st.agent.Result(st.work(), finished, out)
		if err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, st.run.Ref.Run, outcome, out.Status, out)
	})
	return out, err
}

// RunThrough runs the calls of a response that precede a control call, then the control call. It returns
// the result without storing it: the workflow decides what follows. Done is true if the call
// already has a result.
func (s *Service) RunThrough(ctx context.Context, in contract.ToolInput) (w RunView, result tools.Result,
	done bool, err error) {
	st, c, err := s.control(ctx, in.Ref(), in.Step, in.Position)
	if err != nil || st.run.Status == run.Ended || c.Done {
		return st.work(), result, true, err
	}
	if err = s.subject(ctx, st, in.Base); err != nil {
		return st.work(), result, false, err
	}
	at := slices.IndexFunc(st.steps, func(s run.Step) bool { return s.N == in.Step })
	for _, i := range st.sequence(st.steps[at].Calls) {
		if before := &st.steps[at].Calls[i]; !before.Done && before.Class == agent.Fast {
			if err := s.runCall(ctx, st, before); err != nil {
				return st.work(), result, false, err
			}
		}
	}
	if st.judge(*c) == "" {
		var unrun agent.SkipReason
		if result, unrun, err = s.callTool(ctx, st, *c); err != nil || result.OK {
			return st.work(), result, false, err
		}
		if unrun == "" {
			return st.work(), result, true, s.Tell(ctx, in.Ref(), in.Step, in.Position, result)
		}
	}
	return st.work(), result, true, s.runCall(ctx, st, c)
}

// Tell stores the result of a control call.
func (s *Service) Tell(ctx context.Context, ref run.Ref, n, position int, result tools.Result) error {
	st, c, err := s.control(ctx, ref, n, position)
	if err != nil || st.run.Status == run.Ended || c.Done {
		return err
	}
	c.Result, c.Code = string(result.JSON), string(result.Code)
	return s.whileOpen(ctx, st, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Steps().EndCall(ctx, ref.Run, *c)
		return err
	})
}

func (s *Service) control(ctx context.Context, ref run.Ref, n, position int) (*runState, *run.ToolCall, error) {
	st, err := s.loadRun(ctx, ref)
	if err != nil || st.run.Status == run.Ended {
		return st, &run.ToolCall{}, err
	}
	at := slices.IndexFunc(st.steps, func(s run.Step) bool { return s.N == n })
	if at < 0 || position >= len(st.steps[at].Calls) {
		return st, &run.ToolCall{}, fault.New(fault.NotFound,
			fmt.Sprintf("run %s has no call %d in step %d", ref.Run, position, n), "")
	}
	return st, &st.steps[at].Calls[position], nil
}
