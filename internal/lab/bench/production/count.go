package production

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/bench/audit"
)

// answeredOnce compares the transcripts with the messages that were sent: each must be there once, with
// one reply, which names it. Group is the beginning of the names of workspaces.
func answeredOnce(ctx context.Context, a *audit.Audit, group string, sent []string) (findings []string, err error) {
	rows, _ := a.Query(ctx, a.Text("replies"), group)
	messages, replies := map[string]int{}, map[string]int{}
	var workspace, conversation, role, content string
	_, err = pgx.ForEachRow(rows, []any{&workspace, &conversation, &role, &content}, func() error {
		mark := markIn.FindString(content)
		switch {
		case role == "user":
			messages[mark]++
		case strings.HasPrefix(content, replyHead):
			replies[mark]++
		default:
			findings = append(findings, fmt.Sprintf("%s/%s has the reply %.100q", workspace, conversation, content))
		}
		if mark != "" && !strings.HasPrefix(mark, workspace[:min(len(workspace), len("p1w00"))]) {
			findings = append(findings, fmt.Sprintf("%s has %s of another workspace", workspace, mark))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the transcripts: %w", err)
	}
	for _, mark := range sent {
		if messages[mark] != 1 || replies[mark] != 1 {
			findings = append(findings, fmt.Sprintf("%s is there %d times, with %d replies", mark, messages[mark],
				replies[mark]))
		}
		delete(messages, mark)
		delete(replies, mark)
	}
	for mark := range messages {
		findings = append(findings, fmt.Sprintf("%s was not sent", mark))
	}
	return findings, nil
}

// askedOnce compares the requests of turns that reached the model with the messages that were sent: each
// must have been asked once.
func (e *experiment) askedOnce(sent []string) (findings []string) {
	requests := map[string]int{}
	for _, c := range e.model.Requests() {
		if c.Stage == "turn" {
			requests[asked(c)]++
		}
	}
	for _, mark := range sent {
		if n := requests[mark]; n != 1 {
			findings = append(findings, fmt.Sprintf("the model was asked %d times for %s", n, mark))
		}
	}
	return findings
}

// foreignRows looks for the name of another workspace in every table, and in every request to the model.
func (e *experiment) foreignRows(ctx context.Context, a *audit.Audit) (tables int, findings []string, err error) {
	rows, _ := a.Query(ctx, a.Text("tables"))
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, nil, fmt.Errorf("list the tables: %w", err)
	}
	for _, name := range names {
		var n int
		err := a.QueryRow(ctx, fmt.Sprintf(`select count(*) from cairn.%s t
			join cairn.workspaces w on w.id = t.workspace_id
			cross join lateral regexp_matches(t::text, '\mp[0-9]w[0-9][0-9]', 'g') m(x)
			where x[1] <> left(w.external_id, 5)`, pgx.Identifier{name}.Sanitize())).Scan(&n)
		if err != nil {
			return 0, nil, fmt.Errorf("read %s: %w", name, err)
		}
		if n > 0 {
			findings = append(findings, fmt.Sprintf("%s has %d rows with text of another workspace", name, n))
		}
	}
	for _, c := range e.model.Requests() {
		in := workspaceIn.FindAllString(string(c.Body), -1)
		slices.Sort(in)
		if in = slices.Compact(in); len(in) > 1 {
			findings = append(findings, fmt.Sprintf("request %d has text of %v", c.Index, in))
		}
	}
	return len(names), findings, nil
}

// answers adds the rows about replies to a sheet: once by the transcripts, and never paid twice by the
// count of the model server and the ledger.
func (e *experiment) answers(ctx context.Context, to sheet, group string, sent []string) error {
	a, err := e.audit(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	err = until(ctx, e.options.Patience, "all runs end", func() (bool, error) {
		open, err := a.Number(ctx, "open_runs", group)
		return open == 0, err
	})
	to.row(err == nil, "no run stays open", "%s", describe(err, "0 open"))
	findings, err := answeredOnce(ctx, a, group, sent)
	if err != nil {
		return err
	}
	to.none(findings, "each message is answered once, by the transcripts", "%d of %d",
		len(sent)-min(len(findings), len(sent)), len(sent))
	calls, findings, err := a.Calls(ctx, e.model)
	if err != nil {
		return err
	}
	to.found(findings...)
	to.row(calls.PaidTwice == 0, "no stored reply is paid again, by the model server",
		"%d of %d calls; %d were in flight at a fault", calls.PaidTwice, calls.Keys, calls.InFlight)
	to.row(calls.Miscounted == 0, "the sums of a day equal its ledger", "%d sums differ", calls.Miscounted)
	return nil
}

func describe(err error, fine string) string {
	if err != nil {
		return err.Error()
	}
	return fine
}
