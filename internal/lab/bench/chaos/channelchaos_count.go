package chaos

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/bench/ground"
)

// ChannelResult holds the counts of the experiment.
type ChannelResult struct {
	Messages     int `json:"messages"`
	Replies      int `json:"replies"`
	GatewayKills int `json:"gateway_kills"`
	WorkerKills  int `json:"worker_kills"`
	Crashes      int `json:"crashes"` // of Postgres and Temporal
	Exits        int `json:"exits"`   // without a kill
	// Ambiguous are messages that were sent again after an unknown outcome, where a platform cannot decide.
	Ambiguous int `json:"ambiguous"`
	Repeated  int `json:"repeated"` // that such platforms show twice
	Streamed  int `json:"streamed"` // replies that were messages before they were complete
	// Late are messages whose attempts were all killed until the time of their turn was over. People read that.
	Late int `json:"late"`

	Unanswered int      `json:"unanswered"` // messages without a reply
	Twice      int      `json:"twice"`      // messages that two turns answer
	Disordered int      `json:"disordered"` // replies before that to an earlier message
	Duplicates int      `json:"duplicates"` // messages that a platform shows twice, more than Ambiguous
	Dead       int      `json:"dead"`       // deliveries that were given up
	Partial    int      `json:"partial"`    // messages with a part of a reply that are left
	Details    []string `json:"details"`
}

// Held reports whether all counts that must be 0 are 0.
func (r ChannelResult) Held() bool {
	return r.Unanswered+r.Twice+r.Disordered+r.Duplicates+r.Dead+r.Partial == 0
}

// Print writes the counts with their goals.
func (r ChannelResult) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tcounted\tgoal")
	fmt.Fprintf(tw, "messages without a reply\t%d\t0\n", r.Unanswered)
	fmt.Fprintf(tw, "messages that two turns answer\t%d\t0\n", r.Twice)
	fmt.Fprintf(tw, "replies out of order\t%d\t0\n", r.Disordered)
	fmt.Fprintf(tw, "duplicates beyond the counted ones\t%d\t0\n", r.Duplicates)
	fmt.Fprintf(tw, "deliveries given up\t%d\t0\n", r.Dead)
	fmt.Fprintf(tw, "partial replies left\t%d\t0\n", r.Partial)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	fmt.Fprintf(
		w,
		"\n%d messages, %d replies; gateway killed %d times, worker %d times, servers %d times (%d unexpected "+
			"exits)\n%d messages sent again after an unknown outcome where the platform cannot decide, %d of them "+
			"shown twice\n%d replies were messages before they were complete\n%d messages whose time was over, as "+
			"their people read\n",
		r.Messages,
		r.Replies,
		r.GatewayKills,
		r.WorkerKills,
		r.Crashes,
		r.Exits,
		r.Ambiguous,
		r.Repeated,
		r.Streamed,
		r.Late,
	)
	ground.PrintFindings(w, r.Details)
	return nil
}

func (e *channelExperiment) find(format string, args ...any) {
	e.result.Details = append(e.result.Details, fmt.Sprintf(format, args...))
}

// count compares what the platforms got with what people wrote.
func (e *channelExperiment) count(ctx context.Context) error {
	attempts, err := e.attempts(ctx)
	if err != nil {
		return err
	}
	if err := e.Audit.QueryRow(ctx, e.Audit.Text("dead")).Scan(&e.result.Dead); err != nil {
		return fmt.Errorf("count the dead deliveries: %w", err)
	}
	e.result.Streamed = e.number(ctx, "partial")
	late, err := e.late(ctx)
	if err != nil {
		return err
	}
	repeated := map[string]int{}
	for person := range e.options.People {
		repeated[e.home(person).name] += e.countPerson(person, late)
	}
	for _, p := range e.platforms {
		if p.decides {
			e.result.Duplicates += repeated[p.name]
			continue
		}
		e.result.Ambiguous += attempts[p.name]
		e.result.Repeated += repeated[p.name]
		e.result.Duplicates += max(0, repeated[p.name]-attempts[p.name])
	}
	return nil
}

// attempts returns the number of repeated attempts of each account.
func (e *channelExperiment) attempts(ctx context.Context) (map[string]int, error) {
	rows, err := e.Audit.Query(ctx, e.Audit.Text("attempts"))
	if err != nil {
		return nil, fmt.Errorf("count the attempts: %w", err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var account string
		var n int
		if err := rows.Scan(&account, &n); err != nil {
			return nil, fmt.Errorf("count the attempts: %w", err)
		}
		out[account] = n
	}
	return out, rows.Err()
}

// late returns the messages of turns whose time was over.
func (e *channelExperiment) late(ctx context.Context) (map[string]bool, error) {
	rows, err := e.Audit.Query(ctx, e.Audit.Text("late"))
	if err != nil {
		return nil, fmt.Errorf("read the messages of late turns: %w", err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the messages of late turns: %w", err)
	}
	out := map[string]bool{}
	for _, one := range answered(strings.Join(texts, " ")) {
		out[one] = true
	}
	return out, nil
}

// countPerson counts the replies to a person. It returns how many messages are shown twice.
func (e *channelExperiment) countPerson(person int, late map[string]bool) (repeated int) {
	p := e.home(person)
	chat := p.Private(name(person))
	texts := map[string]bool{}
	at := map[string]int{}    // position of the reply by message
	position, notices := 0, 0 // notices state why there is no answer
	for _, m := range p.Sent() {
		if m.Chat != chat {
			continue
		}
		if len(answered(m.Text)) == 0 {
			notices++
			continue
		}
		if texts[m.Text] {
			repeated++
			continue
		}
		texts[m.Text] = true
		if answer, tail, cut := strings.Cut(m.Text, longTail[:12]); cut && m.Text != answer+longTail {
			e.result.Partial++
			e.find("%s: a part of a reply is left, which continues as %q", p.name, tail)
		}
		e.result.Replies++
		position++
		for _, one := range answered(m.Text) {
			if at[one] != 0 {
				e.result.Twice++
				e.find("%s: %s is answered by %q, too", p.name, one, m.Text)
			}
			at[one] = position
		}
	}
	last := 0
	for n := range e.each() {
		e.result.Messages++
		one := messageID(person, n)
		switch {
		case at[one] == 0 && late[one] && notices > 0:
			e.result.Late++
		case at[one] == 0:
			e.result.Unanswered++
			e.find("%s: %s is not answered", p.name, one)
		case at[one] < last:
			e.result.Disordered++
			e.find("%s: %s is answered before an earlier message", p.name, one)
		}
		last = max(last, at[one])
	}
	return repeated
}
