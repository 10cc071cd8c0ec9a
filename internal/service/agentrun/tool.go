package agentrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// callResults summarizes the calls of one response.
type callResults struct {
	tripped bool            // the loop guard demands an answer now
	unsent  []*run.ToolCall // calls whose results are stored with the next request
}

// runCalls runs the calls of response n that have no result, in order, each under its own operation
// ID. Slow calls have already run in their own activities, unless no step follows. If unrun is set,
// no call runs and the model gets that reason. If a request follows, the result of the last call is
// stored with it.
func (s *Service) runCalls(ctx context.Context, st *runState, n int, unrun agent.SkipReason,
	last bool) (out callResults, err error) {
	at := slices.IndexFunc(st.steps, func(s run.Step) bool { return s.N == n })
	if at < 0 || len(st.steps[at].Calls) == 0 {
		return out, nil
	}
	order := st.sequence(st.steps[at].Calls)
	for n, i := range order {
		c := &st.steps[at].Calls[i]
		if !c.Done {
			why := unrun
			// Its own activity has given up.
			if why == "" && !last && c.Class != agent.Fast && c.Class != agent.Isolated && c.Tool != tools.Think {
				why = agent.SkipTimeout
			}
			if why == "" && c.Class == agent.Isolated {
				if why, err = s.lost(ctx, st, *c, last); err != nil {
					return out, err
				}
			}
			if err := s.execute(ctx, st, c, why); err != nil {
				return out, err
			}
			if n == len(order)-1 && !last && st.agent == nil {
				c.Done, out.unsent = true, append(out.unsent, c)
			} else if err := s.storeCall(ctx, st, c); err != nil {
				return out, err
			}
		}
		out.tripped = out.tripped || c.Code == string(agent.SkipGuardrail)
	}
	return out, nil
}

// lost returns why a call for a sandboxed worker has no result: it was started, or it never will be.
func (s *Service) lost(ctx context.Context, st *runState, c run.ToolCall, last bool) (why agent.SkipReason, err error) {
	err = s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		begun, err := tx.Operations().VoidOp(ctx, st.run.Op(stepKey(c.Step), c.Position))
		switch {
		case len(begun) > 0:
			why = agent.SkipUnknown
		case last: // no activity was started for it
			why = agent.SkipBudget
		default:
			why = agent.SkipUntaken
		}
		return err
	})
	return why, err
}

// RunTool runs one slow call of a response.
func (s *Service) RunTool(ctx context.Context, in contract.ToolInput) error {
	st, err := s.loadRun(ctx, in.Ref())
	if err != nil || st.run.Status == run.Ended {
		return err
	}
	if err := s.subject(ctx, st, in.Base); err != nil {
		return err
	}
	step, found := st.step(in.Step)
	if !found || in.Position >= len(step.Calls) {
		return fault.Newf(fault.NotFound, "run %s has no call %d in step %d", in.Run, in.Position, in.Step)
	}
	if c := step.Calls[in.Position]; !c.Done {
		err = s.runCall(ctx, st, &c)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// runCall runs one call and stores its result. If an attempt fails before that, the operation log
// has the effect, and the next attempt finds it.
func (s *Service) runCall(ctx context.Context, st *runState, c *run.ToolCall) error {
	if err := s.execute(ctx, st, c, ""); err != nil {
		return err
	}
	return s.storeCall(ctx, st, c)
}

// execute runs a call unless a rule prevents it, and sets its result.
func (s *Service) execute(ctx context.Context, st *runState, c *run.ToolCall, unrun agent.SkipReason) error {
	if unrun == "" {
		unrun = st.judge(*c)
		if unrun == "" && st.withdrawn(c.Tool, c.Step) {
			unrun = agent.SkipUnknownTool
		}
	}
	if unrun == "" {
		result, why, err := s.callTool(ctx, st, *c)
		if err != nil {
			return err
		}
		unrun = why
		c.Result, c.Code = string(result.JSON), string(result.Code)
	}
	if unrun != "" {
		c.Result, c.Code = c.Answer(unrun), string(unrun)
	}
	return nil
}

// storeCall stores the result of a call.
func (s *Service) storeCall(ctx context.Context, st *runState, c *run.ToolCall) error {
	return s.whileOpen(ctx, st, func(ctx context.Context, tx store.Tx) (err error) {
		*c, err = tx.Steps().EndCall(ctx, st.run.Ref.Run, *c)
		return err
	})
}

// storeToolResults stores the results of calls that no request follows.
func (s *Service) storeToolResults(ctx context.Context, st *runState, unsent []*run.ToolCall) error {
	if len(unsent) == 0 {
		return nil
	}
	return s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		return st.resume(ctx, tx, unsent, false)
	})
}

// errRevoked means that the session of the turn was revoked after it was read.
var errRevoked = errors.New("the session has been revoked")

// errEnded means that another attempt has ended the run. Nothing may be added to it.
var errEnded = errors.New("the run has ended")

// whileOpen runs fn in a transaction during which the run cannot end. If the run has ended already,
// the transaction is rolled back with errEnded.
func (s *Service) whileOpen(ctx context.Context, st *runState, fn func(context.Context, store.Tx) error) error {
	return s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		open, err := tx.Runs().RequireOpenRun(ctx, st.run.Ref.Run)
		if err == nil && !open {
			err = errEnded
		}
		if err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// judge returns why a call must not run, or an empty reason.
func (st *runState) judge(c run.ToolCall) agent.SkipReason {
	switch agent.Judge(st.history(c.Step), c.Tool, agent.ArgsSHA([]byte(c.Arguments))) {
	case agent.Repeat:
		return agent.SkipRepeated
	case agent.Trip:
		return agent.SkipGuardrail
	}
	if strings.TrimSpace(c.Arguments) != "" && !json.Valid([]byte(c.Arguments)) {
		return agent.SkipArguments
	}
	return ""
}

// callTool calls the tool. If the time limit passes, the call is abandoned; its effect is stored under
// its operation ID.
func (s *Service) callTool(ctx context.Context, st *runState, c run.ToolCall) (tools.Result, agent.SkipReason, error) {
	limit, cancel := context.WithTimeout(ctx, st.spec.Timing.Tool)
	defer cancel()
	result, err := attempts(limit, st.tools, st.actor(c), c)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return tools.Result{}, "", err
	case limit.Err() != nil:
		return tools.Result{}, agent.SkipTimeout, nil
	default: // the model gets an error; if the database is down, storing the error fails, too
		result = tools.Failure(fault.New(fault.Unavailable, c.Tool+" is unavailable",
			"continue without it and name what is still open"))
	}
	failing := append(st.history(c.Step), agent.CallRecord{Tool: c.Tool, Target: target(c), Failed: true})
	if !result.OK && agent.Done(failing, c.Tool, target(c)) {
		result = tools.Terminal(result)
	}
	return result, "", nil
}

// attempts calls a tool and retries errors.
func attempts(ctx context.Context, t Tools, a agent.Actor, c run.ToolCall) (result tools.Result, err error) {
	const most, pause = 3, 100 * time.Millisecond
	for n := 1; ; n++ {
		if result, err = t.Call(ctx, a, c.Tool, json.RawMessage(c.Arguments)); err == nil || n == most {
			return result, err
		}
		select {
		case <-ctx.Done():
			return result, err
		case <-time.After(time.Duration(n) * pause):
		}
	}
}

// target returns the skill or memory that the arguments name.
func target(c run.ToolCall) string {
	var named struct{ Name, Match, Store string }
	_ = json.Unmarshal([]byte(c.Arguments), &named) // without a name there is no target
	return named.Name + named.Match + named.Store
}

// record converts a call for the loop guard.
func record(c run.ToolCall) agent.CallRecord {
	r := agent.CallRecord{Tool: c.Tool, ArgsSHA: agent.ArgsSHA([]byte(c.Arguments)), Target: target(c),
		Failed: c.Code != ""}
	sum := sha256.Sum256([]byte(c.Result))
	r.OutcomeSHA = hex.EncodeToString(sum[:])
	if c.Code == string(agent.SkipRepeated) || c.Code == string(agent.SkipGuardrail) {
		r.OutcomeSHA = agent.Withheld
	}
	return r
}
