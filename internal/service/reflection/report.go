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

// Report is what a reflection came to, in numbers.
type Report struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	From          time.Time `json:"from,omitzero"`
	To            time.Time `json:"to"`
	Why           string    `json:"why"`
	Conversations int       `json:"conversations"`
	Messages      int       `json:"messages"` // that the model was to be shown
	Turns         int       `json:"turns"`    // of people among them
	Parts         int       `json:"parts,omitempty"`
	PartsRead     int       `json:"parts_read,omitempty"`
	Notes         int       `json:"notes"`
	Memories      int       `json:"memories"`
	Skills        int       `json:"skills"`
	// notes that became memories: they were looked for again and again
	Promoted int  `json:"promoted,omitempty"`
	Staged   int  `json:"staged,omitempty"`   // wait for a person
	Refused  int  `json:"refused,omitempty"`  // calls that failed
	Skipped  int  `json:"skipped,omitempty"`  // messages that were passed over for good
	Left     bool `json:"left,omitempty"`     // a rest is for the next run
	Failures int  `json:"failures,omitempty"` // runs in a row that failed, with this one
	Alert    bool `json:"alert,omitempty"`    // they were too many: what they could not read is passed over
	Unheard  bool `json:"unheard,omitempty"`  // the seventh empty day in a row although people talked
}

func (p PinnedReflection) report() Report {
	return Report{Date: p.Date, Zone: p.Zone, From: p.From, To: p.To, Why: p.Why, Conversations: len(p.Conversations),
		Messages: p.Messages, Turns: p.Turns,
		Parts: parts(p.Spans), Skipped: p.Skipped, Left: p.Left}
}

// Wrote is how many writes took effect.
func (r Report) Wrote() int { return r.Notes + r.Memories + r.Skills + r.Promoted }

// done adds what the calls of a run came to.
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

// status judges a run by how its loop ended and what it wrote. Its marks move
// unless it is Failed.
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

// Day is what a local date came to.
type Day struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	Status        string    `json:"status"` // started saved nothing_to_save empty partial failed
	To            time.Time `json:"to"`
	Run           int64     `json:"run,omitempty"`
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
	Runs  []DayRun       `json:"runs"` // the latest first
	Notes []memory.Entry `json:"day_notes"`
}

// DayRun is one run of a date.
type DayRun struct {
	Run        int64      `json:"run"`
	Generation int        `json:"generation"`
	WorkflowID string     `json:"workflow_id"`
	State      run.Status `json:"state"`            // accepted running ended
	Status     string     `json:"status,omitempty"` // once it has ended
	Reason     string     `json:"reason,omitempty"` // why its loop ended
	Detail     string     `json:"detail,omitempty"`
	Report
	Steps     int        `json:"steps"`
	Usage     run.Usage  `json:"usage"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// UnheardReason stands in the row of a day that is empty and should not be: one
// that nothing is read of looks like one on which nothing was said.
const UnheardReason = "the seventh empty day in a row, although people talked"

const (
	firstDate, lastDate = "0001-01-01", "9999-12-31"
	runsShown           = 50
)

// List tells of the dates from one to another, both included, the latest first.
// Empty ends are open.
func (s *Service) List(ctx context.Context, ws int64, from, to string, max int) (out []Day, err error) {
	for _, d := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, d); d != "" && err != nil {
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", d), "write it as 2026-03-01")
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

// Show tells of one date.
func (s *Service) Show(ctx context.Context, ws int64, date string) (out DayDetail, err error) {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", date), "write it as 2026-03-01")
	}
	err = s.Store.WithReflections(ctx, ws, func(ctx context.Context, tx Tx) error {
		out = DayDetail{Runs: []DayRun{}}
		// The runs first: one that is seen to have ended is told of in the date's row.
		runs, err := tx.Days().Reflections(ctx, date, runsShown)
		if err != nil {
			return err
		}
		days, err := tx.Days().Days(ctx, date, date, 1)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			return fault.New(fault.NotFound, "nothing has been reflected on "+date,
				"`cairn reflect now --date "+date+"` does it")
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
		return out, fmt.Errorf("decode the result of run %d: %w", r.Ref.Run, err)
	}
	out.Status, out.Reason, out.Detail, out.Steps = e.Status, string(e.Reason), e.Detail, e.Steps
	if len(e.Report) > 0 {
		err = json.Unmarshal(e.Report, &out.Report)
	}
	return out, err
}
