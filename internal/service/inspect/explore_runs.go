package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/paging"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
)

// Runs returns a page of runs, the newest first.
func (s *Service) Runs(ctx context.Context, ws int64, f readmodel.RunFilter, cursor string,
	limit int) (page []readmodel.Run, next string,
	err error) {
	var max int
	if f.Before, f.BeforeID, max, err = paging.Time(cursor, limit); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreRuns(ctx, ws, f, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.Run) string {
		return paging.ByTime(last.CreatedAt, last.Ref.Run)
	})
	return page, next, err
}

// Kinds of spans.
const (
	SpanModel = "model"
	SpanTool  = "tool"
	SpanRun   = "run"
)

// Span is a part of a run with its times.
type Span struct {
	Kind    string     `json:"kind" enum:"model,tool,run"`
	Name    string     `json:"name" doc:"Step of a model call, name of a tool, or ID of a child run"`
	Detail  string     `json:"detail,omitempty" doc:"Model, error code of a tool call, or kind of a child run"`
	Round   int        `json:"round,omitempty" doc:"Of a model call: 1 and more are repairs"`
	State   string     `json:"state" doc:"State of a model call, done or failed of a tool call, outcome of a child run"`
	Retries int        `json:"retries,omitempty" doc:"Requests after the first"`
	Unknown int        `json:"unknown,omitempty" doc:"Requests in flight at a crash, which may have been paid"`
	Tokens  int64      `json:"tokens,omitempty"`
	Cost    *int64     `json:"cost_micros,omitempty"`
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to,omitempty" doc:"Absent while it runs"`
}

// Failed reports whether the span did not succeed.
func (s Span) Failed() bool {
	return s.State == string(run.CallFailed) || s.State == "unknown" || s.State == string(run.Failed)
}

// Timeline is what a run did, in the order of time.
type Timeline struct {
	From  time.Time                 `json:"from" doc:"When the run started, or was accepted if it has not"`
	To    *time.Time                `json:"to,omitempty" doc:"Absent while the run is open"`
	Spans []Span                    `json:"spans"`
	Tools []readmodel.AgentToolCall `json:"tool_calls"`
}

// State returns a text that changes whenever something happens in the run.
func (t Timeline) State() string {
	ended := 0
	for _, s := range t.Spans {
		if s.To != nil {
			ended++
		}
	}
	return fmt.Sprintf("%d-%d-%t", len(t.Spans), ended, t.To != nil)
}

// Timeline returns what a run did.
func (s *Service) Timeline(ctx context.Context, ref run.Ref) (out Timeline, err error) {
	parts, err := s.Store.ExploreParts(ctx, ref, partRunes)
	if err != nil {
		return out, err
	}
	redactor := guard.NewRedactor(guard.Options{})
	out = Timeline{From: begun(parts.Run), To: parts.Run.EndedAt, Spans: []Span{}, Tools: []readmodel.AgentToolCall{}}
	for _, c := range parts.Calls {
		out.Spans = append(out.Spans, Span{Kind: SpanModel, Name: c.Key.Step, Detail: c.Model, Round: c.Key.Round,
			State: string(c.State), Retries: max(c.Attempts-1, 0), Unknown: c.Unknown, Tokens: c.Input + c.Output,
			Cost: c.CostMicros, From: c.StartedAt, To: c.FinishedAt})
	}
	for _, t := range parts.Tools {
		t.Arguments, _ = redactor.Redact(t.Arguments)
		t.Result, _ = redactor.Redact(t.Result)
		out.Tools = append(out.Tools, t)
		state := "done"
		switch {
		case t.Code != "":
			state = string(run.CallFailed)
		case t.EndedAt == nil:
			state = "started"
		}
		out.Spans = append(out.Spans, Span{Kind: SpanTool, Name: t.Tool, Detail: t.Code, State: state, From: t.BegunAt,
			To: t.EndedAt})
	}
	for _, c := range parts.Children {
		out.Spans = append(out.Spans, Span{Kind: SpanRun, Name: c.Ref.Run, Detail: string(c.Kind),
			State: cmp.Or(string(c.Outcome), string(c.Status)), From: begun(c), To: c.EndedAt})
	}
	slices.SortStableFunc(out.Spans, func(a, b Span) int { return a.From.Compare(b.From) })
	return out, nil
}

// begun returns when a run started, or was accepted if it has not.
func begun(r run.Run) time.Time {
	if r.StartedAt != nil {
		return *r.StartedAt
	}
	return r.CreatedAt
}

// Usage returns the usage from one local date to another, both included, the latest first.
func (s *Service) Usage(ctx context.Context, ws int64, zone *time.Location, from, to time.Time) ([]readmodel.Usage,
	error) {
	since := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, zone)
	until := time.Date(to.Year(), to.Month(), to.Day()+1, 0, 0, 0, 0, zone)
	out, err := s.Store.ExploreUsage(ctx, ws, zone.String(), since, until)
	return append([]readmodel.Usage{}, out...), err
}

// Spent returns the tokens and the micro-dollars of the model calls of today, in UTC as the daily limits count them.
func (s *Service) Spent(ctx context.Context, ws int64) (tokens, micros int64, err error) {
	now := time.Now().UTC()
	rows, err := s.Usage(ctx, ws, time.UTC, now, now)
	for _, u := range rows {
		tokens, micros = tokens+u.Input+u.Output, micros+u.Micros
	}
	return tokens, micros, err
}

const (
	usualDays = 30
	maxDays   = 366
)

// Days returns a range of local dates, both included. Without a last date, it ends today, and without a first one, it
// has 30 days.
func Days(zone, first, last string) (from, to time.Time, err error) {
	place, err := time.LoadLocation(zone)
	if err != nil {
		place = time.UTC
	}
	now := time.Now().In(place)
	to = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, place)
	if to, err = date("to", last, to); err != nil {
		return from, to, err
	}
	if from, err = date("from", first, to.AddDate(0, 0, -usualDays+1)); err != nil {
		return from, to, err
	}
	if to.Before(from) || to.Sub(from) > maxDays*24*time.Hour {
		return from, to, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid dates %s to %s",
			from.Format(time.DateOnly), to.Format(time.DateOnly)),
			fmt.Sprintf("use at most %d days, the first date first", maxDays))
	}
	return from, to, nil
}

func date(name, text string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, otherwise.Location())
	if err != nil {
		return day, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s %.40q", name, text),
			"use a date such as 2027-01-31")
	}
	return day, nil
}
