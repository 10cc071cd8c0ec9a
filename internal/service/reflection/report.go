package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/tools"
)

// Report is the result of a reflection in numbers.
type Report struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	From          time.Time `json:"from,omitzero"`
	To            time.Time `json:"to"`
	Why           string    `json:"why"`
	Conversations int       `json:"conversations"`
	Messages      int       `json:"messages"` // selected for the model
	Turns         int       `json:"turns"`    // user messages among them
	Parts         int       `json:"parts,omitempty"`
	PartsRead     int       `json:"parts_read,omitempty"`
	Notes         int       `json:"notes"`
	Memories      int       `json:"memories"`
	Skills        int       `json:"skills"`
	// Promoted is the number of notes that became memories because searches returned them often.
	Promoted  int  `json:"promoted,omitempty"`
	Staged    int  `json:"staged,omitempty"`     // pending changes
	Refused   int  `json:"refused,omitempty"`    // failed calls
	Skipped   int  `json:"skipped,omitempty"`    // messages that will not be read
	Left      bool `json:"left,omitempty"`       // the next run continues
	Failures  int  `json:"failures,omitempty"`   // consecutive failed runs, including this one
	Alert     bool `json:"alert,omitempty"`      // too many failures: unread messages are skipped
	EmptyWeek bool `json:"empty_week,omitempty"` // seventh empty day in a row in spite of messages
}

func (p PinnedReflection) report() Report {
	return Report{Date: p.Date, Zone: p.Zone, From: p.From, To: p.To, Why: p.Why, Conversations: len(p.Conversations),
		Messages: p.Messages, Turns: p.Turns,
		Parts: parts(p.Spans), Skipped: p.Skipped, Left: p.Left}
}

// Wrote returns the number of applied writes.
func (r Report) Wrote() int { return r.Notes + r.Memories + r.Skills + r.Promoted }

// done adds the results of the calls of a run.
func (r *Report) done(steps []agentrun.Step) {
	for _, s := range steps {
		for _, c := range s.Calls {
			if c.Done {
				r.call(c)
			}
		}
	}
}

func (r *Report) call(c agentrun.Call) {
	var result struct {
		OK     bool   `json:"ok"`
		Action string `json:"action"`
	}
	if json.Unmarshal([]byte(c.Result), &result) != nil || !result.OK {
		r.Refused++
		return
	}
	switch result.Action {
	case "", "unchanged", "noop":
		return
	case "staged":
		r.Staged++
		return
	}
	switch c.Tool {
	case tools.NoteAppend:
		r.Notes++
	case "memory_save", "memory_replace", "memory_remove", "memory_batch":
		r.Memories++
	default:
		r.Skills++
	}
}

// status derives the status of a run from the end of its loop and its writes. Marks move unless it
// is Failed.
func (r Report) status(reason agent.Reason) string {
	switch reason {
	case agent.Final:
		switch {
		case r.Left:
			return Partial
		case r.Wrote()+r.Staged > 0:
			return Saved
		}
		return Nothing
	case agent.Exhausted, agent.WallClock, agent.Guardrail:
		if r.Wrote()+r.Staged > 0 {
			return Partial
		}
	}
	return Failed
}

// Day is the result of a local date.
type Day struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	Status        string    `json:"status"` // started, saved, nothing_to_save, empty, partial or failed
	To            time.Time `json:"to"`
	Run           string    `json:"run,omitempty"`
	Conversations int       `json:"conversations"`
	Messages      int       `json:"messages"`
	Notes         int       `json:"notes"`
	Memories      int       `json:"memories"`
	Skills        int       `json:"skills"`
	Failures      int       `json:"failures,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// DayDetail is a date with its runs and notes.
type DayDetail struct {
	Day
	Runs  []DayRun       `json:"runs"` // latest first
	Notes []memory.Entry `json:"day_notes"`
}

// DayRun is one run of a date.
type DayRun struct {
	Run        string     `json:"run"`
	Generation int        `json:"generation"`
	WorkflowID string     `json:"workflow_id"`
	State      run.Status `json:"state"`            // accepted, running or ended
	Status     string     `json:"status,omitempty"` // set when it has ended
	Reason     string     `json:"reason,omitempty"` // why its loop ended
	Detail     string     `json:"detail,omitempty"`
	Report
	Steps     int        `json:"steps"`
	Usage     run.Usage  `json:"usage"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// EmptyWeekReason is stored for an empty day that should not be empty. A failure to read messages
// looks like a day without messages.
const EmptyWeekReason = "empty for 7 days in a row although messages exist"

const (
	firstDate, lastDate = "0001-01-01", "9999-12-31"
	runsShown           = 50
)

// List returns the dates of a range, inclusive, latest first. An empty bound is open.
func (s *Service) List(ctx context.Context, ws int64, from, to string, max int) (out []Day, err error) {
	for _, d := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, d); d != "" && err != nil {
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", d), "use the format 2026-03-01")
		}
	}
	if from == "" {
		from = firstDate
	}
	if to == "" {
		to = lastDate
	}
	err = s.Store.WithReflections(ctx, ws, func(ctx context.Context, tx Tx) error {
		out, err = tx.Days().Days(ctx, from, to, max)
		return err
	})
	return out, err
}

// Show returns the details of one date.
func (s *Service) Show(ctx context.Context, ws int64, date string) (out DayDetail, err error) {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", date), "use the format 2026-03-01")
	}
	err = s.Store.WithReflections(ctx, ws, func(ctx context.Context, tx Tx) error {
		out = DayDetail{Runs: []DayRun{}}
		// Read the runs first: the row of the date includes every run that has ended.
		runs, err := tx.Days().Reflections(ctx, date, runsShown)
		if err != nil {
			return err
		}
		days, err := tx.Days().Days(ctx, date, date, 1)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			return fault.New(fault.NotFound, "no reflection for "+date,
				"run `cairn reflect now --date "+date+"`")
		}
		out.Day = days[0]
		if out.Notes, err = tx.Notes().NotesOf(ctx, date, notesShown); err != nil {
			return err
		}
		for _, r := range runs {
			one, err := reportOf(r)
			if err != nil {
				return err
			}
			if one.Usage, err = tx.Runs().Usage(ctx, r.Ref.Run); err != nil {
				return err
			}
			out.Runs = append(out.Runs, one)
		}
		return nil
	})
	return out, err
}

func reportOf(r run.Run) (out DayRun, err error) {
	out = DayRun{Run: r.Ref.Run, Generation: r.Generation, WorkflowID: r.WorkflowID, State: r.Status,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	p, err := pinnedOf(r)
	if out.Report = p.report(); err != nil || r.Status != run.Ended {
		return out, err
	}
	var e agentrun.RunResult
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	out.Status, out.Reason, out.Detail, out.Steps = e.Status, string(e.Reason), e.Detail, e.Steps
	if len(e.Report) > 0 {
		err = json.Unmarshal(e.Report, &out.Report)
	}
	return out, err
}

// digest returns what a reflection has done, as a message for the user.
func (r Report) digest() string {
	text := fmt.Sprintf(
		"Reflection of %s: %d messages read; saved %d memories, %d notes and %d skills.",
		r.Date,
		r.Messages,
		r.Memories+r.Promoted,
		r.Notes,
		r.Skills,
	)
	if r.Staged > 0 {
		text += fmt.Sprintf(" %d changes wait for approval: send /approve.", r.Staged)
	}
	return text
}
