package audit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/openai/openaitest"
)

//go:embed calls.sql
var callsSQL string

// Calls is both sides' account of the model calls.
type Calls struct {
	Keys      int `json:"keys"`
	Requests  int `json:"requests"`   // that reached the server
	PaidTwice int `json:"paid_twice"` // keys asked again although the reply was stored
	InFlight  int `json:"in_flight"`  // attempts that the ledger shows as unknown
	Repaid    int `json:"repaid"`     // replies that the server wrote beyond one for each key
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

// serverKey is the server's name for the call.
func (c callRow) serverKey() string {
	return openaitest.Call{Run: c.Run, Stage: c.Stage, Task: c.Task, File: c.File, Body: []byte(c.Request)}.Key()
}

// Calls compares the ledger with the server that answered. Both read the same
// machine's clock. A key was paid twice although its reply was stored when a
// request came after the reply was stored, when more requests came than the
// ledger has attempts, or when more replies went out than the ledger has either
// stored or shown as unknown. Findings tell of each one of these.
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
		found("a request came that the ledger does not know")
	}
	return c, findings, nil
}
