package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/llm/llmtest"
)

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
	return llmtest.Call{Run: c.Run, Stage: c.Stage, Task: c.Task, File: c.File, Body: []byte(c.Request)}.Key()
}

// countCalls compares the ledger with the server that answered. Both read the
// same machine's clock. A key was paid twice although its reply was stored when
// a request came after the reply was stored, when more requests came than the
// ledger has attempts, or when more replies went out than the ledger has either
// stored or shown as unknown.
func (e *experiment) countCalls(ctx context.Context, _ []request) error {
	c := &e.result.Calls
	rows, _ := e.audit.Query(ctx, query("calls"))
	ledger, err := pgx.CollectRows(rows, pgx.RowToStructByPos[callRow])
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	arrivals := map[string][]time.Time{}
	for _, call := range e.model.Requests() {
		arrivals[call.Key()] = append(arrivals[call.Key()], call.Time)
		c.Requests++
	}
	paid := e.model.Paid()
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
			e.found(&c.PaidTwice, "run %s %s/%d is %s: %d requests, %d of them after the reply was stored; %d replies; %d attempts, %d unknown",
				row.Run, row.Step, row.Round, row.State, len(came), late, replies, row.Attempts, row.Unknown)
		}
	}
	for range arrivals {
		e.found(&c.PaidTwice, "a request came that the ledger does not know")
	}
	return nil
}
