package audit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/fakes/openaitest"
)

//go:embed calls.sql
var callsSQL string

// Calls counts the model calls in the ledger and on the model server.
type Calls struct {
	Keys      int `json:"keys"`
	Requests  int `json:"requests"`   // requests that reached the server
	PaidTwice int `json:"paid_twice"` // keys requested again although the reply was stored
	InFlight  int `json:"in_flight"`  // attempts with an unknown outcome in the ledger
	Repaid    int `json:"repaid"`     // replies of the server in excess of one per key
	// Sums of a day, of a workspace or the deployment, that differ from those of the ledger
	Miscounted int `json:"miscounted"`
}

// sumRow is a sum of a day that differs from the ledger; of workspace 0, that of the deployment.
type sumRow struct {
	Workspace            int64
	Day                  string
	Tokens, LedgerTokens int64
	Micros, LedgerMicros int64
}

type callRow struct {
	Run, Stage, Task, File, Request string
	Step                            string
	Round                           int
	State                           string
	Attempts                        int
	Unknown                         int
	Finished                        *time.Time
}

// serverKey returns the key of the call on the model server.
func (c callRow) serverKey() string {
	return openaitest.Call{Run: c.Run, Stage: c.Stage, Task: c.Task, File: c.File, Body: []byte(c.Request)}.Key()
}

// Calls compares the ledger with the model server. Both use the clock of the same machine.
// A key counts as paid twice in three cases: a request arrived after the reply was stored,
// more requests arrived than the ledger has attempts, or more replies were sent than the
// ledger has stored or marked as unknown. Findings describes each case, and each sum for the
// daily limits that differs from the ledger.
func (a *Audit) Calls(ctx context.Context, model *openaitest.Server) (c Calls, findings []string, err error) {
	rows, _ := a.Query(ctx, named(callsSQL, "calls"))
	ledger, err := pgx.CollectRows(rows, pgx.RowToStructByPos[callRow])
	if err != nil {
		return c, nil, fmt.Errorf("read the ledger: %w", err)
	}
	found := func(format string, args ...any) {
		c.PaidTwice++
		findings = append(findings, fmt.Sprintf(format, args...))
	}
	arrivals := map[string][]time.Time{}
	for _, call := range model.Requests() {
		arrivals[call.Key()] = append(arrivals[call.Key()], call.Time)
		c.Requests++
	}
	paid := model.Paid()
	c.Keys = len(ledger)
	for _, row := range ledger {
		key := row.serverKey()
		came, replies := arrivals[key], paid[key]
		delete(arrivals, key)
		c.InFlight += row.Unknown
		c.Repaid += max(0, replies-1)
		late := 0
		for _, at := range came {
			if row.Finished != nil && at.After(*row.Finished) {
				late++
			}
		}
		if late > 0 || len(came) > row.Attempts || replies-1 > row.Unknown {
			found("run %s %s/%d is %s: %d requests, %d of them after the reply was stored; %d replies; %d attempts, "+
				"%d unknown",
				row.Run, row.Step, row.Round, row.State, len(came), late, replies, row.Attempts, row.Unknown)
		}
	}
	for range arrivals {
		found("the ledger does not know a request")
	}
	rows, _ = a.Query(ctx, named(callsSQL, "sums"))
	sums, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sumRow])
	if err != nil {
		return c, nil, fmt.Errorf("compare the sums of days with the ledger: %w", err)
	}
	c.Miscounted = len(sums)
	for _, s := range sums {
		findings = append(findings, fmt.Sprintf("on %s, workspace %d has used %d tokens and %d micro-dollars by the "+
			"sums of the day, %d and %d by the ledger", s.Day, s.Workspace, s.Tokens, s.Micros, s.LedgerTokens,
			s.LedgerMicros))
	}
	return c, findings, nil
}
