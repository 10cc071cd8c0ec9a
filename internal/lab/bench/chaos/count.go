package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/run"
)

// count runs the audit.
func (e *experiment) count(ctx context.Context, wanted []request) error {
	for _, part := range []func(context.Context, []request) error{e.countRuns, e.countSkills, e.countVersions,
		e.countPackages, e.countCalls, e.countWorkflows} {
		if err := part(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// found increments a counter that should be 0 and records a finding.
func (e *experiment) found(n *int, format string, args ...any) {
	*n++
	e.result.Findings = append(e.result.Findings, fmt.Sprintf(format, args...))
}

// foundMany is like found, for a query that returns a number.
func (e *experiment) foundMany(ctx context.Context, n *int, name string) error {
	more, err := e.Audit.Number(ctx, name)
	if more > 0 {
		*n += more
		e.result.Findings = append(e.result.Findings, fmt.Sprintf("%s: %d", strings.ReplaceAll(name, "_", " "), more))
	}
	return err
}

// countCalls compares the ledger with the model server.
func (e *experiment) countCalls(ctx context.Context, _ []request) (err error) {
	var findings []string
	e.result.Calls, findings, err = e.Audit.Calls(ctx, e.Model)
	e.result.Findings = append(e.result.Findings, findings...)
	return err
}

type runRow struct {
	Key        string
	ID         string
	Generation int
	Status     string
	Outcome    string
	Reason     string
	Workflow   string
	Created    time.Time
	Ended      *time.Time
}

// countRuns checks that each request has exactly one run with the expected outcome.
func (e *experiment) countRuns(ctx context.Context, wanted []request) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("runs"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[runRow])
	if err != nil {
		return fmt.Errorf("read the runs: %w", err)
	}
	byKey := map[string]runRow{}
	var times []time.Duration
	for _, r := range all {
		if _, twice := byKey[r.Key]; twice {
			e.found(&e.result.Doubled.Effects, "request %s has two runs", r.Key)
		}
		byKey[r.Key] = r
		if r.Ended != nil {
			times = append(times, r.Ended.Sub(r.Created))
		}
	}
	e.result.Runs, e.result.Lost.Accepted = timesOf(times), len(all)
	for _, w := range wanted {
		switch r, known := byKey[w.conversation.ID]; {
		case !known:
			e.found(&e.result.Lost.Runs, "request %s has no run", w.conversation.ID)
		case r.Status != string(run.Ended) || r.Outcome != string(w.outcome):
			e.found(&e.result.Lost.Runs, "run %s of %s is %s %s (%s), want %s", r.ID, r.Key, r.Status, r.Outcome,
				r.Reason, w.outcome)
		}
	}
	return nil
}

type skillRow struct {
	Name        string
	Description string
	Body        string
	Head        int
}

// countSkills checks that each theme has exactly one skill, which contains all lessons.
func (e *experiment) countSkills(ctx context.Context, wanted []request) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("skills"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[skillRow])
	if err != nil {
		return fmt.Errorf("read the skills: %w", err)
	}
	e.result.Doubled.AllSkills = len(all)
	byDescription := map[string]skillRow{}
	for _, s := range all {
		if first, twice := byDescription[s.Description]; twice {
			e.found(&e.result.Doubled.Skills, "skills %s and %s are equal", first.Name, s.Name)
		}
		byDescription[s.Description] = s
	}
	taught := map[string]bool{}
	for _, w := range wanted {
		for _, l := range w.lessons {
			taught[l.theme.description] = true
			e.result.Lost.AllLessons++
			s := byDescription[l.theme.description]
			switch n := strings.Count(s.Body, l.text); {
			case n == 0:
				e.found(&e.result.Lost.Lessons, "skill %q lacks %q of %s", s.Name, l.text, w.conversation.ID)
			case n > 1:
				e.found(&e.result.Doubled.Effects, "skill %q holds %q %d times", s.Name, l.text, n)
			}
		}
	}
	for _, s := range all {
		if !taught[s.Description] {
			e.found(&e.result.Doubled.Skills, "skill %s has no source", s.Name)
		}
	}
	return nil
}

// countVersions compares versions with tasks and with the log of operations.
func (e *experiment) countVersions(ctx context.Context, _ []request) error {
	d := &e.result.Doubled
	var err error
	if d.AllVersions, err = e.Audit.Number(ctx, "versions"); err != nil {
		return err
	}
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("tasks_by_outcome"))
	tasks := map[string]int{}
	var outcome string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&outcome, &n}, func() error {
		tasks[outcome] = n
		return nil
	}); err != nil {
		return fmt.Errorf("count the tasks: %w", err)
	}
	commits, err := e.Audit.Number(ctx, "commits")
	if err != nil {
		return err
	}
	if made := tasks["created"] + tasks["updated"]; made != d.AllVersions {
		e.found(&d.Versions, "%d versions, but tasks %v", d.AllVersions, tasks)
	}
	if done := tasks["created"] + tasks["updated"] + tasks["unchanged"]; done != commits {
		e.found(&d.Effects, "%d logged commits, but tasks %v", commits, tasks)
	}
	if tasks["created"] != d.AllSkills {
		e.found(&d.Skills, "%d skills, but tasks %v", d.AllSkills, tasks)
	}
	for name, n := range map[string]*int{"versions_of_one_task": &d.Versions, "heads_astray": &d.Versions,
		"operations_open": &d.Effects, "documents_astray": &d.Effects} {
		if err := e.foundMany(ctx, n, name); err != nil {
			return err
		}
	}
	return nil
}
