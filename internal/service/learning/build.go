package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
)

// job is a build with what it works on.
type job struct {
	run   run.Run
	spec  BuildSpec
	spans []executor.Span
}

func (s *Service) job(ctx context.Context, ref run.Ref) (j job, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if j.run, err = tx.Runs().Run(ctx, ref.Run); err != nil {
			return err
		}
		if j.spec, err = specOf[BuildSpec](j.run); err != nil {
			return err
		}
		c, err := tx.Transcripts().Conversation(ctx, j.run.Conversation, j.spec.FromSeq, j.spec.ToSeq)
		if err != nil {
			return err
		}
		said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Said(c.Messages))
		j.spans = executor.Spans(said, j.spec.Keeping.Spanning)
		return nil
	})
	return j, err
}

func (j job) actor(step string, call int) agent.Actor {
	return agent.Actor{Workspace: j.run.Workspace, Origin: agent.OriginDistill, Run: j.run.Ref.Run, Conversation: j.run.Conversation, FromSeq: j.spec.FromSeq, ToSeq: j.spec.ToSeq,
		Op: j.run.Op(step, call), Tainted: j.spec.Tainted, Subject: agent.MemoryScope{Author: j.spec.Author}}
}

// Built is what a build came to.
type Built struct {
	Outcome run.Outcome              `json:"outcome"`
	Trace   string                   `json:"trace,omitempty"`
	Bank    string                   `json:"bank"`
	Version int                      `json:"bank_version"`
	Spans   int                      `json:"spans"`
	Actions map[executor.Outcome]int `json:"actions"` // by what became of them
	Added   []string                 `json:"added"`
	Updated []string                 `json:"updated"`
	Deleted []string                 `json:"deleted"`
	Failed  int                      `json:"failed_spans,omitempty"`
}

// OpenBuild marks a run as picked up and keeps its session. Over is set when an
// earlier attempt has brought the run to its end.
func (s *Service) OpenBuild(ctx context.Context, ref run.Ref) (spans int, over *Built, err error) {
	j, err := s.job(ctx, ref)
	if err != nil {
		return 0, nil, err
	}
	if j.run.Status == run.Ended {
		over, err = built(j.run)
		return 0, over, err
	}
	if _, err := s.LongTerm.AddRange(ctx, j.actor("session", 0), memory.Evidence{Conversation: j.run.Conversation, FromSeq: j.spec.FromSeq, ToSeq: j.spec.ToSeq}); err != nil {
		return 0, nil, err
	}
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		_, err := tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return len(j.spans), nil, err
}

func built(r run.Run) (*Built, error) {
	var out Built
	if err := json.Unmarshal(r.Result, &out); err != nil {
		return nil, fmt.Errorf("decode the result of run %d: %w", r.Ref.Run, err)
	}
	return &out, nil
}

// BuildSpan remembers one span: skills are chosen, a model is asked once, and
// what may be done is done in one transaction.
func (s *Service) BuildSpan(ctx context.Context, ref run.Ref, number int) (SpanOutcome, error) {
	j, err := s.job(ctx, ref)
	if err != nil {
		return SpanOutcome{}, err
	}
	if number < 0 || number >= len(j.spans) {
		return SpanOutcome{}, fault.Newf(fault.InvalidArgument, "run %d has no span %d", ref.Run, number)
	}
	span := j.spans[number]
	var head Head
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		head, err = s.at(ctx, tx, BankRow{ID: j.spec.BankID, Name: j.spec.Bank}, j.spec.Version)
		return err
	})
	if err != nil {
		return SpanOutcome{}, err
	}
	d, err := s.decide(ctx, j, span, head)
	if err != nil || d.Outcome != nil {
		if d.Outcome != nil {
			return *d.Outcome, err
		}
		return SpanOutcome{}, err
	}
	out, err := s.carryOut(ctx, j, span, head, d)
	if err != nil {
		return out, err
	}
	return out, s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error { return tx.Decisions().EndDecision(ctx, d.ID, out) })
}

// decide chooses the skills of a span, or finds what an earlier attempt has chosen.
func (s *Service) decide(ctx context.Context, j job, span executor.Span, head Head) (d Decision, err error) {
	id := DecisionID(j.run.Ref, span.Number)
	found, canary := false, 0
	err = s.Store.WithEvolve(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		if d, found, err = tx.Decisions().DecisionAt(ctx, id); err != nil || found {
			return err
		}
		head, canary, err = s.tryOut(ctx, tx, j, head)
		return err
	})
	if err != nil || found {
		return d, err
	}
	vectors, err := s.embed(ctx, []string{span.Text()})
	if err != nil {
		return d, err
	}
	candidates, err := s.candidates(ctx, head.Bank, nil, head.Policy.Shape().Dim)
	if err != nil {
		return d, err
	}
	err = s.Store.WithEvolve(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		how, fresh, err := s.explore(ctx, tx, id, j.spec.Keeping.K, head)
		if err != nil {
			return err
		}
		if d, found, err = tx.Decisions().DecisionAt(ctx, id); err != nil || found { // by another attempt, while this one waited
			return err
		}
		near, err := tx.Transcripts().Neighbours(ctx, vectors[0], s.Space, j.spec.Keeping.TopN)
		if err != nil {
			return err
		}
		var beside [][]float32
		var shown []string
		for _, n := range near {
			beside, shown = append(beside, n.Vector), append(shown, n.ID)
		}
		for i, c := range candidates {
			candidates[i].Fresh = slices.Contains(fresh, c.ID)
		}
		scorer, err := head.Policy.Scorer(candidates)
		if err != nil {
			return err
		}
		choice, err := scorer.Decide(state(vectors[0], beside, head.Policy.Shape()), how)
		if err != nil {
			return err
		}
		choice.ID, choice.Policy, choice.Bank = id, head.Version.Policy, head.Version.BankSHA
		d = Decision{ID: id, Run: j.run.Ref.Run, Conversation: j.run.Conversation, Span: span.Number, FromSeq: span.FromSeq(), ToSeq: span.ToSeq(), Bank: head.ID, Version: head.Version.Number, Canary: canary,
			Choice: Choice{choice, shown}}
		if err := tx.Decisions().PutDecision(ctx, d); err != nil {
			return err
		}
		d, _, err = tx.Decisions().DecisionAt(ctx, id) // another attempt may have been first
		return err
	})
	return d, err
}

// carryOut asks the model about a span, and does what it may.
func (s *Service) carryOut(ctx context.Context, j job, span executor.Span, head Head, d Decision) (out SpanOutcome, err error) {
	chosen := selected(head.Bank, d.Choice.Chosen)
	var stored []memory.Entry
	err = s.LongTerm.Store.WithLongTerm(ctx, j.run.Workspace, func(ctx context.Context, tx longterm.Tx) error {
		stored, err = tx.Memories().LongTerm(ctx, d.Choice.Shown)
		return err
	})
	if err != nil {
		return out, err
	}
	contents := map[string]string{}
	for _, e := range stored {
		contents[e.ID] = e.Content
	}
	actions, outcome, err := s.remember(ctx, j.run.Ref, j.spec.Model, fmt.Sprintf("span/%d", span.Number), j.spec.Lang, span, chosen, d.Choice.Shown, contents)
	if f, over := ledger.IsPermanent(err); over {
		return SpanOutcome{Outcome: executor.LLMError, Note: f.Error()}, nil
	} else if err != nil {
		return out, err
	}
	out = SpanOutcome{Outcome: outcome, Actions: executor.Resolve(actions, roles(chosen), handles(d.Choice.Shown))}
	return out, s.apply(ctx, j, span, d.ID, out.Actions)
}

// selected are the skills of a decision in the order of the choice.
func selected(b memoryskill.Bank, ids []string) (out []memoryskill.Skill) {
	for _, id := range ids {
		for _, v := range b.Versions() {
			if v.ID == id {
				out = append(out, v.Skill)
			}
		}
	}
	return out
}

func roles(skills []memoryskill.Skill) (out []executor.Chosen) {
	for _, one := range skills {
		out = append(out, executor.Chosen{Name: one.Name, Action: one.Action})
	}
	return out
}

// apply does what was resolved, once, and notes what became of each action.
func (s *Service) apply(ctx context.Context, j job, span executor.Span, decision string, actions []executor.Resolved) error {
	var changes longterm.SpanChanges
	for i, a := range actions {
		if a.Outcome != executor.OK {
			continue
		}
		switch a.Type {
		case memoryskill.Delete:
			changes.Deletes = append(changes.Deletes, longterm.DeleteRequest{Index: i, ID: a.Memory})
		case memoryskill.Update:
			changes.Updates = append(changes.Updates, longterm.ChangedMemory{Index: i, ID: a.Memory, Content: a.Content})
		case memoryskill.Insert:
			changes.Inserts = append(changes.Inserts, longterm.SpanMemory{NewMemory: longterm.NewMemory{Index: i, Content: a.Content, EventTime: said(span, a.Evidence)}, Type: kind(a), About: about(span, a)})
		}
	}
	if len(changes.Deletes)+len(changes.Updates)+len(changes.Inserts) == 0 {
		return nil
	}
	a := j.actor("span", span.Number)
	a.FromSeq, a.ToSeq, a.Subject.Decision = span.FromSeq(), span.ToSeq(), decision
	items, err := s.LongTerm.ApplySpan(ctx, a, changes)
	if err != nil {
		return err
	}
	for _, item := range items {
		r := &actions[item.Index]
		r.Memory = item.ID
		switch item.Status {
		case longterm.Failed:
			r.Outcome, r.Note = executor.Refused, string(item.Code)+": "+item.Message
		case longterm.AlreadyExists, memorywrite.Unchanged, longterm.Merged:
			r.Outcome = executor.Duplicate
		}
	}
	return nil
}

func kind(a executor.Resolved) memory.Type {
	if a.Kind == string(memory.Procedural) {
		return memory.Procedural
	}
	return memory.Personal
}

// about is who or what an insert is about: what the model says, else who said it.
func about(span executor.Span, a executor.Resolved) string {
	if a.About != "" {
		return a.About
	}
	speaker := ""
	for _, p := range span.Parts {
		name := p.Speaker
		if name == "" {
			name = p.Role
		}
		for _, seq := range a.Evidence {
			if p.Seq == seq {
				return name
			}
		}
		if speaker == "" || p.Role == "user" {
			speaker = name
		}
	}
	return speaker
}

// said is when the first message that an action rests on was said.
func said(span executor.Span, evidence []int) *time.Time {
	for _, p := range span.Parts {
		for _, seq := range evidence {
			if p.Seq == seq && !p.Time.IsZero() {
				return &p.Time
			}
		}
	}
	return nil
}

// CloseBuild ends a run with what its decisions say. Code and reason are set when
// the workflow gave up.
func (s *Service) CloseBuild(ctx context.Context, ref run.Ref, code, reason string) (out Built, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			over, err := built(r)
			if over != nil {
				out = *over
			}
			return err
		}
		spec, err := specOf[BuildSpec](r)
		if err != nil {
			return err
		}
		decisions, err := tx.Decisions().Decisions(ctx, ref.Run)
		if err != nil {
			return err
		}
		if err := s.used(ctx, tx, spec.BankID, decisions); err != nil {
			return err
		}
		out = tell(decisions)
		out.Trace, out.Bank, out.Version = r.Key, spec.Bank, spec.Version
		switch {
		case code == string(fault.Cancelled):
			out.Outcome = run.CancelledOutcome
		case code != "" || out.Failed > 0 && out.Failed == out.Spans:
			out.Outcome = run.Failed
		case out.Failed > 0:
			out.Outcome = run.CompletedPartial
		case out.Spans == 0:
			out.Outcome = run.NothingToExtract
		default:
			out.Outcome = run.Completed
		}
		if out.Outcome != run.Failed && out.Outcome != run.CancelledOutcome {
			if err := tx.Workspace().SetMark(ctx, r.Conversation, run.Summarize, spec.ToSeq, ref.Run); err != nil {
				return err
			}
			if err := s.acceptProbe(ctx, tx, r, spec, decisions); err != nil {
				return err
			}
		}
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, reason, out)
	})
	return out, err
}

// tell adds up decisions.
func tell(decisions []Decision) Built {
	out := Built{Actions: map[executor.Outcome]int{}, Added: []string{}, Updated: []string{}, Deleted: []string{}}
	for _, d := range decisions {
		out.Spans++
		if d.Outcome == nil || d.Outcome.Outcome == executor.LLMError || d.Outcome.Outcome == executor.ParseError {
			out.Failed++
			continue
		}
		for _, a := range d.Outcome.Actions {
			out.Actions[a.Outcome]++
			if a.Outcome != executor.OK {
				continue
			}
			switch a.Type {
			case memoryskill.Insert:
				out.Added = append(out.Added, a.Memory)
			case memoryskill.Update:
				out.Updated = append(out.Updated, a.Memory)
			case memoryskill.Delete:
				out.Deleted = append(out.Deleted, a.Memory)
			}
		}
	}
	return out
}
