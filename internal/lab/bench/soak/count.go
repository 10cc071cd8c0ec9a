package soak

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// count runs the audit.
func (e *experiment) count(ctx context.Context) error {
	for _, part := range []func(context.Context) error{e.countTurns, e.countMemories, e.countReviews, e.countCounters,
		e.countCalls, e.countWorkflows, e.countTimes} {
		if err := part(ctx); err != nil {
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

type turnRow struct {
	Conversation                  string
	Number                        int
	Status, Reason                string
	First, Last                   int
	Reply                         string
	Said, Answers, Calls, Results int
}

// countTurns checks that each turn has exactly one reply and all its messages.
func (e *experiment) countTurns(ctx context.Context) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("turns"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[turnRow])
	if err != nil {
		return fmt.Errorf("read the turns: %w", err)
	}
	e.result.Doubled.AllTurns = len(all)
	byMark := map[string]turnRow{}
	for _, r := range all {
		byMark[fmt.Sprintf("%s/%d", r.Conversation, r.Number)] = r
	}
	for _, t := range e.talks {
		for turn, does := range t.acts {
			key := fmt.Sprintf("%s/%d", t.name, turn+1)
			r, there := byMark[key]
			delete(byMark, key)
			e.countTurn(t.mark(turn+1), does, r, there)
		}
	}
	for key := range byMark {
		e.found(&e.result.Doubled.Turns, "turn %s was not sent", key)
	}
	if err := e.foundMany(ctx, &e.result.Doubled.Transcripts, "transcripts_astray"); err != nil {
		return err
	}
	return e.foundMany(ctx, &e.result.Doubled.Transcripts, "turns_astray")
}

func (e *experiment) countTurn(mark string, does act, r turnRow, there bool) {
	used := 0 // number of tool calls
	if does != answers {
		used = 1
	}
	got, scripted := markAfter(r.Reply, answerHead)
	switch {
	case !there:
		e.found(&e.result.Lost.Turns, "turn %s is missing", mark)
	case r.Status != "ended" || r.Reason != "final" || !scripted || got != mark || r.Said < 1 || r.Answers < 1 ||
		r.Calls < used || r.Results < used:
		e.found(&e.result.Lost.Turns, "turn %s is %s (%s) with %d calls, %d results and the reply %.80q", mark,
			r.Status, r.Reason, r.Calls, r.Results, r.Reply)
	case r.Said > 1 || r.Answers > 1 || r.Calls > used || r.Results > used:
		e.found(&e.result.Doubled.Turns, "turn %s has %d user messages, %d replies, %d calls and %d results",
			mark, r.Said, r.Answers, r.Calls, r.Results)
	}
}

type memoryRow struct {
	Content, Status string
	Revisions       int
}

// countMemories checks that each turn and review that saved a memory has exactly one.
func (e *experiment) countMemories(ctx context.Context) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("memories"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[memoryRow])
	if err != nil {
		return fmt.Errorf("read the memories: %w", err)
	}
	d := &e.result.Doubled
	d.AllMemories = len(all)
	there := map[string]int{}
	for _, r := range all {
		text, _, _ := strings.Cut(r.Content, " #")
		if there[text]++; there[text] > 1 {
			e.found(&d.Memories, "memory %q exists %d times", text, there[text])
		}
		if r.Status != "active" || r.Revisions != 1 {
			e.found(&d.Memories, "memory %q is %s with %d revisions", text, r.Status, r.Revisions)
		}
	}
	want := func(text string) {
		if there[text] == 0 {
			e.found(&e.result.Lost.Memories, "memory %q is missing", text)
		}
		delete(there, text)
	}
	for _, t := range e.talks {
		for turn, does := range t.acts {
			if does == saves {
				want(turnHead + t.mark(turn+1))
			}
		}
		for _, r := range t.reviews {
			want(reviewHead + t.mark(r.number))
		}
	}
	for text := range there {
		e.found(&d.Memories, "memory %q was not saved by any turn or review", text)
	}
	return e.foundMany(ctx, &d.Memories, "operations_open")
}

// countTimes reads the times of replies.
func (e *experiment) countTimes(ctx context.Context) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("answer_times"))
	all, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	if err != nil {
		return fmt.Errorf("read the times of the replies: %w", err)
	}
	if n := len(all); n > 0 {
		at := func(i int) time.Duration { return time.Duration(all[i] * float64(time.Second)) }
		e.result.Answers = Times{Median: at(n / 2), P95: at(n * 95 / 100), Most: at(n - 1)}
	}
	return nil
}
