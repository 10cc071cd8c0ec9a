package conversation

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
	Finish(ctx context.Context, w RunView, e Ended) (json.RawMessage, error)
	// Result fills in Status and Report from all that the run has done, and from
	// what Finish has returned. It has no effect.
	Result(w RunView, finished json.RawMessage, e *Ended) (run.Outcome, error)
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

func (j *runState) work() RunView { return RunView{j.run, j.spec, j.steps} }

// resolveAgent finds out whose run it is.
func (s *Service) resolveAgent(j *runState) (err error) {
	j.tools = s.turnTools(j.spec)
	if a, found := s.Agents[j.run.Kind]; found {
		j.agent = a
		j.tools, err = a.Tools(j.work())
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
	return slices.DeleteFunc(c.Tools.Offered(o, names...), func(t agent.ToolSpec) bool { return t.Set != "" && !slices.Contains(c.sets, t.Set) })
}

func (c chosen) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error) {
	if len(c.Tools.Offered(a.Origin, name)) > 0 && len(c.Offered(a.Origin, name)) == 0 {
		return tools.Failure(fault.New(fault.UnknownTool, name+" is not offered in this conversation", "")), nil
	}
	return c.Tools.Call(ctx, a, name, arguments)
}

// withdrawn tells whether a tool is not offered in step n: nobody reflects twice
// in a row.
func (j *runState) withdrawn(tool string, n int) bool {
	if j.agent == nil || tool != tools.Think {
		return false
	}
	before, _ := j.step(n - 1)
	return slices.ContainsFunc(before.Calls, func(c Call) bool { return c.Tool == tools.Think && c.Code != string(agent.SkipUnknownTool) })
}

// offered are the tools of step n.
func (j *runState) offered(n int) []agent.ToolSpec {
	return slices.DeleteFunc(j.tools.Offered(j.spec.Origin), func(t agent.ToolSpec) bool { return j.withdrawn(t.Name, n) })
}

// class is how a tool runs in this run. With a pause between them calls are
// activities, which the workflow can put a timer between.
func (j *runState) class(c agent.Class) agent.Class {
	if j.spec.Interval > 0 && c == agent.Fast {
		return agent.Slow
	}
	return c
}

// sequence is the order in which calls run, by their positions: as the model made
// them, or in the order of the tools.
func (j *runState) sequence(calls []Call) []int {
	out := make([]int, len(calls))
	for i := range out {
		out[i] = i
	}
	if !j.spec.Ordered {
		return out
	}
	specs := j.tools.Offered(j.spec.Origin)
	place := func(tool string) int {
		return slices.IndexFunc(specs, func(t agent.ToolSpec) bool { return t.Name == tool })
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(place(calls[a].Tool), place(calls[b].Tool)) })
	return out
}

// brief asks for the request of a run that has an Agent.
func (s *Service) brief(ctx context.Context, j *runState, step agent.Step, note string, short bool) (llm.Request, error) {
	told, err := j.agent.Brief(ctx, j.work(), short)
	if err != nil {
		return llm.Request{}, err
	}
	j.since, _ = j.reached(step.N)
	r := j.request(step, note, short)
	r.NoReasoning = told.Unthinking
	r.System, r.Tools = told.System, offered(j.offered(step.N))
	r.Messages = slices.Concat(told.Messages, r.Messages)
	return r, nil
}

// subject reads what the run works on, once for each activity.
func (s *Service) subject(ctx context.Context, j *runState, base Base) (err error) {
	if j.agent != nil {
		j.subject, err = j.agent.Subject(ctx, j.work(), base.Fence)
	}
	return err
}

// closeAgent ends a run that has an Agent.
func (s *Service) closeAgent(ctx context.Context, j *runState, e ending) (out *Ended, err error) {
	text := func() string {
		if e.answer != "" {
			return e.answer
		}
		for _, s := range slices.Backward(j.steps) {
			if s.Content != "" {
				return s.Content
			}
		}
		return ""
	}
	finished, err := j.agent.Finish(ctx, j.work(), Ended{Reason: e.reason, Detail: e.detail, Text: text()})
	if err != nil {
		return nil, err
	}
	err = s.Store.WithConversations(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		over, err := j.settle(ctx, tx, e, nil)
		if err != nil {
			return err
		}
		if over {
			out, err = j.ended()
			return err
		}
		out = &Ended{Reason: e.reason, Detail: e.detail, Steps: len(j.steps), ReplySeq: -1, Text: text()}
		outcome, err := j.agent.Result(j.work(), finished, out)
		if err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, j.run.Ref.Run, outcome, out.Status, out)
	})
	return out, err
}

// Reach runs the calls of a response that come before a control call, then that
// call, and returns its result without storing it: what follows from it is for
// the workflow. Told is true when the call has a result already.
func (s *Service) Reach(ctx context.Context, ref run.Ref, n, position int, base Base) (w RunView, result tools.Result, told bool, err error) {
	j, c, err := s.control(ctx, ref, n, position)
	if err != nil || j.run.Status == run.Ended || c.Done {
		return j.work(), result, true, err
	}
	if err = s.subject(ctx, j, base); err != nil {
		return j.work(), result, false, err
	}
	at := slices.IndexFunc(j.steps, func(s Step) bool { return s.N == n })
	for _, i := range j.sequence(j.steps[at].Calls) {
		if before := &j.steps[at].Calls[i]; !before.Done && before.Class == agent.Fast {
			if err := s.runCall(ctx, j, before, "", false); err != nil {
				return j.work(), result, false, err
			}
		}
	}
	if j.judge(*c) == "" {
		var unrun agent.SkipReason
		if result, unrun, err = s.use(ctx, j, *c); err != nil || result.OK {
			return j.work(), result, false, err
		}
		if unrun == "" {
			return j.work(), result, true, s.Tell(ctx, ref, n, position, result)
		}
	}
	return j.work(), result, true, s.runCall(ctx, j, c, "", false)
}

// Tell stores what the model is told of a control call.
func (s *Service) Tell(ctx context.Context, ref run.Ref, n, position int, result tools.Result) error {
	j, c, err := s.control(ctx, ref, n, position)
	if err != nil || j.run.Status == run.Ended || c.Done {
		return err
	}
	c.Result, c.Code = string(result.JSON), string(result.Code)
	return s.whileOpen(ctx, j, func(ctx context.Context, tx Tx) error {
		_, err := tx.Steps().EndCall(ctx, ref.Run, *c)
		return err
	})
}

func (s *Service) control(ctx context.Context, ref run.Ref, n, position int) (*runState, *Call, error) {
	j, err := s.load(ctx, ref)
	if err != nil || j.run.Status == run.Ended {
		return j, &Call{}, err
	}
	at := slices.IndexFunc(j.steps, func(s Step) bool { return s.N == n })
	if at < 0 || position >= len(j.steps[at].Calls) {
		return j, &Call{}, fault.New(fault.NotFound, fmt.Sprintf("run %d has no call %d in step %d", ref.Run, position, n), "")
	}
	return j, &j.steps[at].Calls[position], nil
}
