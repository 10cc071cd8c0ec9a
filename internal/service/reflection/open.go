package reflection

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Request requests the reflection of a date.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	Date         string // local date
	Zone         string
	// Window of the date, without To. Only a backfill is limited by From; other requests read all
	// unread messages.
	From, To   time.Time
	Why        string // sweep, now or backfill
	Generation int    // above 1, a deliberate repetition
	WorkflowID string // of the calling workflow; empty if it is not started yet
	Spec       agentrun.Spec
}

// OpenResult is the run of a reflection.
type OpenResult struct {
	Run   run.Run
	Spec  agentrun.Spec
	Ended *run.Result // set if the run has ended
	Made  bool        // true if the run is new
}

// PinnedReflection is the part of a run's configuration that only reflections have.
type PinnedReflection struct {
	Workspace     string    `json:"workspace"` // opaque workspace key
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	From          time.Time `json:"from"`
	To            time.Time `json:"to"`
	Why           string    `json:"why"`
	Again         bool      `json:"again,omitempty"` // also reads messages of earlier generations
	Conversations []int64   `json:"conversations"`   // conversations it reads; erasing one of them erases the prompt
	Spans         []Span    `json:"spans"`
	Messages      int       `json:"messages"`          // number of messages shown to the model
	Turns         int       `json:"turns"`             // number of user messages among them
	Left          bool      `json:"left,omitempty"`    // one run could not take all messages
	Skipped       int       `json:"skipped,omitempty"` // messages that were too old
}

func (r Request) check() (*time.Location, error) {
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return nil, fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("invalid date %q", r.Date),
			"use the format 2026-03-01",
		)
	}
	zone, err := recurrence.Zone(r.Zone)
	if err == nil && !r.From.Before(r.To) {
		err = fault.New(fault.InvalidArgument, fmt.Sprintf("empty window for %s", r.Date), "set an end after the start")
	}
	return zone, err
}

// Open records the reflection of a date, once per generation, with its outbox task, and assigns the
// messages to read. If there are none, the run ends at once. If the window ends later than that of
// the previous run, Open creates one more generation for the remaining messages.
func (s *Service) Open(ctx context.Context, r Request) (out OpenResult, err error) {
	zone, err := r.check()
	if err != nil {
		return out, err
	}
	err = s.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		out = OpenResult{}
		if err := tx.Reflections().LockReflections(ctx); err != nil {
			return err
		}
		at, err := place(ctx, tx, r)
		if err != nil {
			return err
		}
		if out.Run = at.found; at.generation > 0 {
			out.Run, out.Made, err = record(ctx, tx, r, zone, at)
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("open the reflection of %s: %w", r.Date, err)
	}
	if out.Spec, err = agentrun.SpecOf(out.Run); err != nil || out.Run.Status != run.Ended {
		return out, err
	}
	out.Ended = &run.Result{}
	if err := json.Unmarshal(out.Run.Result, out.Ended); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", out.Run.Ref.Run, err)
	}
	if out.Made {
		err = s.alarm(r, out)
	}
	return out, err
}

// alarm logs an error if a day is unexpectedly empty.
func (s *Service) alarm(r Request, o OpenResult) error {
	var report reflection.Report
	if err := json.Unmarshal(o.Ended.Report, &report); err != nil {
		return fmt.Errorf("decode the report of run %s: %w", o.Run.Ref.Run, err)
	}
	if report.EmptyWeek {
		s.Log.Error("reflection empty for 7 days", "workspace", r.WorkspaceKey, "date", r.Date, "run", o.Run.Ref.Run)
	}
	return nil
}

// placed is the position of a request among the runs of its date.
type placed struct {
	found      run.Run // matching run, or the previous one
	generation int     // of the run to create, 0 if found matches
	again      bool    // read messages of earlier generations again
}

// place finds the matching run, or the generation of the run to create.
func place(ctx context.Context, tx store.Tx, r Request) (placed, error) {
	if r.WorkflowID != "" { // a run that this workflow, or an earlier one with its ID, has opened
		runs, err := tx.Reflections().Reflections(ctx, r.Date, runsShown)
		if err != nil {
			return placed{}, err
		}
		for _, one := range runs {
			if one.WorkflowID == r.WorkflowID {
				return placed{found: one}, nil
			}
		}
	}
	latest, any, err := tx.Runs().RunOf(ctx, run.Reflection, r.Date)
	next := placed{found: latest, generation: latest.Generation + 1}
	switch {
	case err != nil:
		return placed{}, err
	case r.Generation > 1 && r.Generation > latest.Generation:
		next.again = any && latest.Status == run.Ended && latest.Reason != reflection.Failed
		return next, nil
	case r.Generation > 1:
		found, _, err := tx.Reflections().ReflectionOf(ctx, r.Date, r.Generation)
		return placed{found: found}, err
	case !any:
		return next, nil
	}
	before, err := pinnedOf(latest)
	if err != nil || !before.To.Before(r.To) || r.Why == contract.ReflectionOfBackfill {
		return placed{found: latest}, err
	}
	return next, nil
}

// record creates a run with the messages to read. If there are none and the date has a run, it
// returns that one.
func record(ctx context.Context, tx store.Tx, r Request, zone *time.Location, at placed) (made run.Run, isNew bool,
	err error) {
	messages, stale, err := collect(ctx, tx, r, at.again)
	if err != nil {
		return made, false, err
	}
	p := PinnedReflection{Workspace: r.WorkspaceKey, Date: r.Date, Zone: r.Zone, From: r.From, To: r.To, Why: r.Why,
		Again: at.again}
	spans, all := divide(messages, zone)
	p.Spans, p.Left = spans, !all || len(messages) == maxMessages
	for _, o := range stale {
		p.Skipped += o.Messages
	}
	spec := r.Spec
	spec.Origin, spec.Channel, spec.Budget = agent.OriginReflection, agent.ChannelScheduled, budget(r.Spec)
	spec.Lang = lang.English
	said := shown(messages, &p)
	if len(said)+len(stale) == 0 && at.found.Ref.Run != "" {
		return at.found, false, nil
	}
	if len(said) > 0 {
		spec.Lang = lang.OfMessages(said)
	}
	// Tool results are not trusted: an instruction in them is treated as an attack.
	spec.Tainted = slices.ContainsFunc(said, func(m transcript.Message) bool {
		return m.Role == transcript.Tool && len(guard.Scan(m.Content, guard.Context)) > 0
	})
	if made, err = put(ctx, tx, r, spec, p, at.generation); err != nil {
		return made, false, err
	}
	if err := tx.Reflections().PutReads(ctx, made.Ref.Run, slices.Concat(reads(spans), stale)); err != nil {
		return made, false, err
	}
	if len(said) == 0 {
		made, err = recordEmpty(ctx, tx, made, p)
		return made, true, err
	}
	if err := tx.Reflections().PutDay(ctx, made.Ref.Run, statusStarted, p.report()); err != nil {
		return made, false, err
	}
	return made, true, tx.Runs().EnqueueRun(ctx, made.Ref.Run)
}

func put(ctx context.Context, tx store.Tx, r Request, spec agentrun.Spec, p PinnedReflection,
	generation int) (made run.Run,
	err error) {
	if spec.Pinned, err = json.Marshal(p); err != nil {
		return made, fmt.Errorf("encode the pinned data of the reflection: %w", err)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return made, fmt.Errorf("encode the configuration: %w", err)
	}
	return tx.AgentRuns().PutAgentRun(ctx, run.NewAgentRun{Kind: run.Reflection, Key: r.Date, Generation: generation,
		ArgsSHA: sha256.Sum256([]byte(r.Date)), Spec: raw,
		WorkflowID: r.workflowID(generation)})
}

func (r Request) workflowID(generation int) string {
	switch {
	case r.WorkflowID != "":
		return r.WorkflowID
	case r.Why == contract.ReflectionNow:
		return contract.ReflectionNowID(r.WorkspaceKey, r.Date, generation)
	}
	return contract.ReflectionRedoID(r.WorkspaceKey, r.Date, generation)
}

// recordEmpty ends a run without messages. Skipped messages are marked as done.
func recordEmpty(ctx context.Context, tx store.Tx, made run.Run, p PinnedReflection) (run.Run, error) {
	id := made.Ref.Run
	if err := tx.Reflections().EndReads(ctx, id, parts(p.Spans), readDone); err != nil {
		return made, err
	}
	if err := mark(ctx, tx, id, false); err != nil {
		return made, err
	}
	report := p.report()
	var err error
	if p.Why == contract.ReflectionOfSweep {
		if report.EmptyWeek, err = tx.Reflections().EmptyWeek(ctx, p.To); err != nil {
			return made, err
		}
	}
	if err := day(ctx, tx, id, p, Empty, report); err != nil {
		return made, err
	}
	raw, err := json.Marshal(report)
	if err != nil {
		return made, fmt.Errorf("encode the report: %w", err)
	}
	e := run.Result{Reason: agent.Final, Status: Empty, ReplySeq: -1, Report: raw}
	if err := tx.Runs().EndRun(ctx, id, run.NothingToExtract, Empty, e); err != nil {
		return made, err
	}
	return tx.Runs().Run(ctx, id)
}

// budget returns the budget of a nightly review, with the configured time limit if there is one.
func budget(s agentrun.Spec) agent.Budget {
	b := agent.ForReflection()
	if s.Budget.Wall > 0 {
		b.Wall = s.Budget.Wall
	}
	return b
}

// collect returns the messages to read, and ranges that are too old. A backfilled date has only its
// own messages.
func collect(ctx context.Context, tx store.Tx, r Request, again bool) (messages []reflection.Message,
	stale []reflection.Read, err error) {
	w := reflection.Window{Until: r.To, Max: maxMessages}
	if again || r.Why == contract.ReflectionOfBackfill {
		w.Since, w.Again = r.From, again
		messages, err = tx.Reflections().Unread(ctx, w)
		return messages, nil, err
	}
	w.Since, w.PastMark = r.To.Add(-maxAge), true
	if messages, err = tx.Reflections().Unread(ctx, w); err == nil {
		stale, err = tx.Reflections().Stale(ctx, w.Since)
	}
	return messages, stale, err
}

// shown returns the messages of p's spans that a model sees, and sets the counts of p.
func shown(messages []reflection.Message, p *PinnedReflection) (out []transcript.Message) {
	for _, m := range messages {
		in := slices.ContainsFunc(p.Spans, func(s Span) bool {
			return s.Conversation == m.Conversation && s.FromSeq <= m.Seq && m.Seq <= s.ToSeq
		})
		if !in {
			continue
		}
		if !slices.Contains(p.Conversations, m.Conversation) {
			p.Conversations = append(p.Conversations, m.Conversation)
		}
		if !m.Human || m.Empty() {
			continue
		}
		if m.Role == transcript.User {
			p.Turns++
		}
		p.Messages++
		out = append(out, m.Message)
	}
	return out
}

// reads converts spans to ranges without gaps, per conversation and part.
func reads(spans []Span) (out []reflection.Read) {
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].Conversation == s.Conversation && out[n-1].Part == s.Part &&
			out[n-1].ToSeq+1 == s.FromSeq {
			out[n-1].ToSeq = s.ToSeq
			continue
		}
		out = append(out, reflection.Read{Conversation: s.Conversation, FromSeq: s.FromSeq, ToSeq: s.ToSeq,
			Part:  s.Part,
			State: readOpen})
	}
	return out
}

// Input returns the input of a run's workflow.
func Input(r run.Run) (contract.ReflectionInput, error) {
	p, err := pinnedOf(r)
	return contract.ReflectionInput{Workspace: p.Workspace, Date: p.Date, Zone: p.Zone, From: p.From, To: p.To,
		Why: p.Why, Generation: r.Generation}, err
}

func pinned(w agentrun.RunView) (p PinnedReflection, err error) {
	if err = json.Unmarshal(w.Spec.Pinned, &p); err != nil {
		err = fmt.Errorf("decode the pinned data of run %s: %w", w.Run.Ref.Run, err)
	}
	return p, err
}

func pinnedOf(r run.Run) (PinnedReflection, error) {
	spec, err := agentrun.SpecOf(r)
	if err != nil {
		return PinnedReflection{}, err
	}
	return pinned(agentrun.RunView{Run: r, Spec: spec})
}
