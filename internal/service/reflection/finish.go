package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// finished is the stored result of Finish.
type finished struct {
	Status string            `json:"status"`
	Report reflection.Report `json:"report"`
}

// Finish moves the marks of the conversations, or releases the messages if the run has failed.
func (s Agent) Finish(ctx context.Context, w agentrun.RunView, e run.Result) (json.RawMessage, error) {
	p, err := pinned(w)
	if err != nil {
		return nil, err
	}
	out := finished{Report: p.report()}
	id := w.Run.Ref.Run
	promoted, err := s.promote(ctx, w, e.Reason)
	if err != nil {
		return nil, err
	}
	err = s.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		out.Report = p.report()
		out.Report.Count(w.Steps)
		out.Report.Promoted = promoted
		out.Report.PartsRead = shownParts(w, p)
		out.Report.Left = p.Left || out.Report.PartsRead < out.Report.Parts
		out.Status = out.Report.StatusFor(e.Reason)
		if err := tx.Reflections().LockReflections(ctx); err != nil {
			return err
		}
		if out.Status == reflection.Failed {
			out.Report.PartsRead = 0
			if err := s.failed(ctx, tx, w, p, e.Reason, &out.Report); err != nil {
				return err
			}
		} else if err := tx.Reflections().EndReads(ctx, id, out.Report.PartsRead, readDone); err != nil {
			return err
		}
		if err := tx.Reflections().FreeReads(ctx, id); err != nil {
			return err
		}
		if err := mark(ctx, tx, id, out.Status != reflection.Failed); err != nil {
			return err
		}
		if err := day(ctx, tx, id, p, out.Status, out.Report); err != nil {
			return err
		}
		if p.Why != contract.ReflectionOfSweep || out.Report.Wrote()+out.Report.Staged == 0 {
			return nil
		}
		return tx.Workspaces().PutDigest(ctx, id, out.Report.Digest())
	})
	if err != nil {
		return nil, fmt.Errorf("finish the reflection of %s: %w", p.Date, err)
	}
	if out.Report.Alert {
		s.Log.Error("unread messages skipped after failed reflections", "workspace", p.Workspace, "date",
			p.Date, "run", id, "failures", out.Report.Failures,
			"skipped", out.Report.Skipped, "reason", e.Reason, "detail", e.Detail)
	}
	return json.Marshal(out)
}

// failed counts consecutive failures. If there are too many, it skips the messages of the first
// one. A canceled run is not a failure.
func (s Agent) failed(
	ctx context.Context,
	tx store.Tx,
	w agentrun.RunView,
	p PinnedReflection,
	reason agent.Reason,
	r *reflection.Report,
) error {
	if reason == agent.Interrupted {
		return nil
	}
	recent, err := tx.Reflections().Reflections(ctx, "", 2*reflection.Patience)
	if err != nil {
		return err
	}
	until := p.To // of the first failed run
	r.Failures = 1
	for _, before := range recent {
		if before.Ref == w.Run.Ref || before.CreatedAt.After(w.Run.CreatedAt) || before.Status != run.Ended ||
			before.Outcome == run.CancelledOutcome ||
			before.Outcome == run.NothingToExtract && before.Reason == Empty {
			continue
		}
		if before.Reason != reflection.Failed || r.Failures == reflection.Patience {
			break
		}
		earlier, err := pinnedOf(before)
		if err != nil {
			return err
		}
		r.Failures, until = r.Failures+1, earlier.To
	}
	if r.Failures < reflection.Patience {
		return nil
	}
	r.Alert = true
	reads, err := tx.Reflections().Reads(ctx, w.Run.Ref.Run)
	if err != nil {
		return err
	}
	for _, read := range reads {
		if read.State != readOpen {
			continue
		}
		messages, err := tx.Reflections().Range(ctx, read)
		if err != nil {
			return err
		}
		later := slices.IndexFunc(messages, func(m reflection.Message) bool { return !m.Said.Before(until) })
		if later == 0 {
			continue
		}
		if later > 0 {
			read.ToSeq, messages = messages[later].Seq-1, messages[:later]
		}
		r.Skipped += len(messages)
		if err := tx.Reflections().SkipRead(ctx, w.Run.Ref.Run, read); err != nil {
			return err
		}
	}
	return nil
}

// mark moves the mark of each conversation of a run up to its first unread message. With reviewed,
// reviews need not read these messages either.
func mark(ctx context.Context, tx store.Tx, id string, reviewed bool) error {
	reads, err := tx.Reflections().Reads(ctx, id)
	if err != nil {
		return err
	}
	var done []int64
	for _, r := range reads {
		if slices.Contains(done, r.Conversation) {
			continue
		}
		done = append(done, r.Conversation)
		c, err := tx.Conversations().LockConversation(ctx, r.Conversation)
		if err != nil {
			return err
		}
		seq, err := tx.Reflections().ContiguousMark(ctx, r.Conversation)
		if err != nil {
			return err
		}
		if seq < 0 {
			continue
		}
		if err := tx.AgentRuns().SetMark(ctx, r.Conversation, run.Reflection, seq, id); err != nil {
			return err
		}
		if !reviewed {
			continue
		}
		turn, err := tx.Reflections().LastTurn(ctx, r.Conversation, seq)
		if err != nil {
			return err
		}
		if turn > c.Reviewed {
			c.Reviewed = turn
			if err := tx.Conversations().SaveCounters(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// day stores the result of a date: the writes of all its runs and the number of messages first
// shown to them.
func day(ctx context.Context, tx store.Tx, id string, p PinnedReflection, status string, r reflection.Report) error {
	runs, err := tx.Reflections().Reflections(ctx, p.Date, runsShown)
	if err != nil {
		return err
	}
	for _, before := range runs {
		if before.Ref.Run == id || before.Status != run.Ended || before.Reason == reflection.Failed {
			continue
		}
		one, err := reportOf(before)
		if err != nil {
			return err
		}
		r.Notes, r.Memories, r.Skills = r.Notes+one.Notes, r.Memories+one.Memories, r.Skills+one.Skills
		if p.Again {
			r.Messages, r.Conversations = max(r.Messages, one.Messages), max(r.Conversations, one.Conversations)
		} else {
			r.Messages, r.Conversations = r.Messages+one.Messages, max(r.Conversations, one.Conversations)
		}
		if (status == reflection.Nothing || status == Empty) && one.Wrote() > 0 {
			status = one.Status
		}
	}
	return tx.Reflections().PutDay(ctx, id, status, r)
}

// Result returns what Finish has stored. It contains no text of the model, because the result is
// not tied to one conversation and remains after an erasure.
func (s Agent) Result(_ agentrun.RunView, raw json.RawMessage, e *run.Result) (run.Outcome, error) {
	var f finished
	if err := json.Unmarshal(raw, &f); err != nil {
		return "", fmt.Errorf("decode the result of the reflection: %w", err)
	}
	report, err := json.Marshal(f.Report)
	if err != nil {
		return "", fmt.Errorf("encode the report: %w", err)
	}
	e.Status, e.Report, e.Text = f.Status, report, ""
	switch {
	case e.Reason == agent.OverBudget:
		return run.OverBudget, nil
	case e.Reason == agent.Interrupted:
		return run.CancelledOutcome, nil
	case f.Status == reflection.Failed:
		return run.Failed, nil
	case f.Status == reflection.Partial:
		return run.CompletedPartial, nil
	case f.Status == reflection.Nothing:
		return run.NothingToExtract, nil
	}
	return run.Completed, nil
}
