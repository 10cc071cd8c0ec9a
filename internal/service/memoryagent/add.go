package memoryagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// repairs is how often a reply that does not decode is asked for again.
const repairs = 1

// Add adds the waiting sessions of a subject with one model call, and ends their runs. If no session
// waits, it does nothing. A permanent failure ends the runs, too.
func (s *Adder) Add(ctx context.Context, in contract.RememberInput) (out contract.AddSessionsResult, err error) {
	b, ok, err := s.claim(ctx, in.Workspace, in.Subject)
	if err != nil || !ok {
		return out, err
	}
	out = contract.AddSessionsResult{Added: len(b.sessions), More: b.more}
	known, err := s.shown(ctx, in.Workspace, b)
	if err != nil {
		return out, err
	}
	req, err := request(&b, known)
	if err != nil {
		return out, err
	}
	// The reply is stored before anything waits for the lock of the memories, so that a crash meanwhile does not
	// pay for it again.
	ref := b.sessions[0].Run.Ref
	text, problem, err := s.Calls.Ask(ctx, ledger.Question{Run: ref, Step: b.step, Lang: b.sessions[0].Spec.Lang,
		Request: req, Repairs: repairs, Decode: func(text string) error {
			_, err := decode(text)
			return err
		}})
	if err == nil && problem != nil {
		err = fault.New(fault.ModelInvalid, "the reply cannot be read: "+problem.Error(), "")
	}
	if f, over := ledger.IsPermanent(err); over {
		return out, s.fail(ctx, b, f)
	}
	if err != nil {
		return out, err
	}
	c, err := s.prepare(ctx, b, known, text)
	if err != nil {
		return out, err
	}
	return out, s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return s.commit(ctx, tx, c)
	})
}

// prepared is a reply with all that its commit needs.
type prepared struct {
	batch    batch
	plans    []plan
	sessions []*memories.PreparedSession
}

// prepare decodes a reply, scans its facts and embeds them, before the transaction of the commit.
func (s *Adder) prepare(ctx context.Context, b batch, known []memory.Entry, text string) (out prepared, err error) {
	r, err := decode(text)
	if err != nil {
		return out, err
	}
	out.batch, out.plans = b, plans(b, known, r)
	changes := make([]memories.SessionChanges, len(out.plans))
	for i, p := range out.plans {
		changes[i] = p.changes
	}
	out.sessions, err = s.LongTerm.PrepareSessions(ctx, actors(b), changes)
	return out, err
}

// commit applies the changes of all sessions that have not ended and ends their runs.
func (s *Adder) commit(ctx context.Context, tx store.Tx, c prepared) error {
	var open []int
	var sessions []*memories.PreparedSession
	for i, one := range c.batch.sessions {
		status, err := tx.Adds().RunLocked(ctx, one.Run.Ref.Run)
		if fault.CodeOf(err) == fault.NotFound { // erased meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if status != run.Ended {
			open, sessions = append(open, i), append(sessions, c.sessions[i])
		}
	}
	results, err := s.LongTerm.ApplySessions(ctx, tx, sessions)
	if err != nil {
		return err
	}
	for n, i := range open {
		if err := end(ctx, tx, c.batch, i, c.plans[i], results[n]); err != nil {
			return err
		}
	}
	return nil
}

// end ends the run of a session with its result.
func end(ctx context.Context, tx store.Tx, b batch, i int, p plan, r memories.SessionResult) error {
	s := b.sessions[i]
	task := Task{Run: s.Run.Ref.Run, Status: OK, SpecialistReport: reportOf(s, p, r)}
	out := Summary{History: r.History, MetaAdded: []memory.Task{}, Digest: r.Digest, Fallback: r.Fallback,
		Tasks: []Task{}, Operations: []Operation{}, Dropped: p.dropped}
	if r.New {
		out.MetaAdded = append(out.MetaAdded, s.Subject)
	}
	if len(b.sessions) > 1 {
		out.Joined = len(b.sessions)
	}
	if i > 0 {
		out.CallRun = b.sessions[0].Run.Ref.Run
	}
	status, outcome := OK, run.Completed
	if len(task.Added)+len(task.Updated)+len(task.Deleted) == 0 {
		status, outcome, task.Status = NoMemory, run.NothingToExtract, NoMemory
	}
	if len(task.Operations) > 0 {
		out.Tasks = append(out.Tasks, task)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	e := run.Result{Reason: agent.Final, Steps: 1, Status: status, Report: raw}
	if err := tx.Runs().EndRun(ctx, s.Run.Ref.Run, outcome, "", e); err != nil || !s.Pinned.Idle {
		return err
	}
	return tx.AgentRuns().SetMark(ctx, s.Run.Conversation, run.Summarize, s.Spec.ToSeq, s.Run.Ref.Run)
}

// reportOf lists the changes of a session.
func reportOf(s session, p plan, r memories.SessionResult) SpecialistReport {
	out := SpecialistReport{Type: s.Subject.Type, Target: s.Subject.Target, Added: []string{},
		Updated: []string{}, Deleted: []string{}, Operations: []Operation{}}
	for _, item := range r.Items {
		o := Operation{Status: item.Status, ID: item.ID, Code: item.Code, Message: item.Message}
		if item.Index < len(p.ops) {
			o.Tool = p.ops[item.Index]
		}
		out.Operations = append(out.Operations, o)
		switch item.Status {
		case memories.Added:
			out.Added = append(out.Added, item.ID)
		case memories.Updated, memories.Merged:
			out.Updated = append(out.Updated, item.ID)
		case memories.Deleted:
			out.Deleted = append(out.Deleted, item.ID)
		}
	}
	return out
}

// fail ends the runs of a call that cannot succeed.
func (s *Adder) fail(ctx context.Context, b batch, f *fault.Error) error {
	reason := agent.ProviderError
	if f.Code == fault.QuotaExceeded {
		reason = agent.OverBudget
	}
	var runs []run.Run
	for _, one := range b.sessions {
		runs = append(runs, one.Run)
	}
	return s.Store.InWorkspaceByKeys(ctx, runs[0].Workspace, func(ctx context.Context, tx store.Tx) error {
		return endFailed(ctx, tx, runs, reason, string(f.Code))
	})
}

// maxClosed is the number of runs that one transaction ends.
const maxClosed = 100

// Close ends all open adds of a subject, because their workflow was canceled or gives up.
func (s *Adder) Close(ctx context.Context, in contract.CloseAddsInput) error {
	for {
		n := 0
		err := s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
			open, err := tx.Adds().Waiting(ctx, in.Subject, maxClosed)
			if err != nil {
				return err
			}
			n = len(open)
			var runs []run.Run
			for _, one := range open {
				runs = append(runs, one.Run)
			}
			return endFailed(ctx, tx, runs, in.Reason, in.Code)
		})
		if err != nil || n < maxClosed {
			return err
		}
	}
}

// endFailed ends runs without a result.
func endFailed(ctx context.Context, tx store.Tx, runs []run.Run, reason agent.Reason, code string) error {
	outcome := run.Failed
	switch reason {
	case agent.OverBudget:
		outcome = run.OverBudget
	case agent.Interrupted:
		outcome = run.CancelledOutcome
	}
	raw, err := json.Marshal(Summary{MetaAdded: []memory.Task{}, Tasks: []Task{},
		Operations: []Operation{}})
	if err != nil {
		return errors.New("encode the report")
	}
	e := run.Result{Reason: reason, Detail: code, Status: Failed, Report: raw}
	for _, r := range runs {
		if err := tx.Runs().EndRun(ctx, r.Ref.Run, outcome, code, e); err != nil {
			return err
		}
	}
	return nil
}
