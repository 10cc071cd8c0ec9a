package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// Restored describes what the acceptance of a restore has changed.
type Restored struct {
	Incarnation int `json:"incarnation"` // of the database from now on
	Workspaces  int `json:"workspaces"`  // which have new keys
	Runs        int `json:"runs"`        // open ones, which start again
	Calls       int `json:"calls"`       // calls of models that were in flight at the backup
	Erasures    int `json:"erasures"`    // open ones, which start again
}

// restoreTables are the tables that the acceptance of a restore changes in all workspaces. Their
// owner sees no rows while row-level security applies to it.
var restoreTables = []string{"workspaces", "runs", "llm_calls", "outbox", "erasures"}

// acceptStatements begin the next incarnation. Each returns the number of changed rows.
var acceptStatements = []struct {
	sql   string
	count func(*Restored) *int
}{
	{`update cairn.store_state set incarnation = incarnation + 1, accepted_at = now(), accepted_commits = lost_commits
		returning incarnation`, func(r *Restored) *int { return &r.Incarnation }},
	{`update cairn.workspaces w set key = 'i' || s.incarnation || '/' || regexp_replace(w.key, '^i[0-9]+/', '')
		from cairn.store_state s`, func(r *Restored) *int { return &r.Workspaces }},
	{`update cairn.runs r set status = 'accepted', attempt = attempt + 1, redriven = 0, opened_at = now(),
		workflow_id = regexp_replace(r.workflow_id, '/(i[0-9]+/)?' || regexp_replace(w.key, '^i[0-9]+/', ''),
			'/' || w.key)
		from cairn.workspaces w where w.id = r.workspace_id and r.status <> 'ended'`,
		func(r *Restored) *int { return &r.Runs }},
	{`update cairn.llm_calls set state = 'unknown', unknown = unknown + 1 where state = 'started'`,
		func(r *Restored) *int { return &r.Calls }},
	{`update cairn.outbox set due_at = now(), attempts = 0, last_error = '', failures = 0, failed_since = null`, nil},
	{`update cairn.erasures e set workspace_key = w.key from cairn.workspaces w
		where w.id = e.workspace and e.state = 'accepted'`, func(r *Restored) *int { return &r.Erasures }},
}

// AcceptRestore begins the next incarnation of a database that was restored from a backup, in one
// transaction. Workspaces get new keys, so that no workflow ID and no message ID of the lost timeline
// is used again. Open runs get another attempt, and activities of the lost timeline are refused. The
// login at url must be a member of cairn_owner, as that of Migrate. Gateways and workers must be
// stopped: AcceptRestore is Unavailable while a transaction uses the tables.
func AcceptRestore(ctx context.Context, url string) (out Restored, err error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return out, fault.Wrap(err, fault.Misconfigured, "invalid DATABASE_URL",
			"write it as postgres://user:password@host:port/database")
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return out, connectionFault("cairn_owner", err)
	}
	defer conn.Close(ctx)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local role cairn_owner; set local search_path = cairn, public; "+
			"set local lock_timeout = '5s'"); err != nil {
			return err
		}
		for _, table := range restoreTables {
			if _, err := tx.Exec(ctx, "alter table cairn."+table+" no force row level security"); err != nil {
				return err
			}
		}
		for _, s := range acceptStatements {
			if err := out.change(ctx, tx, s.sql, s.count); err != nil {
				return err
			}
		}
		for _, table := range restoreTables {
			if _, err := tx.Exec(ctx, "alter table cairn."+table+" force row level security"); err != nil {
				return err
			}
		}
		return recordAct(ctx, dbsqlc.New(tx), nil, audit.RestoreAccept, fmt.Sprintf("incarnation %d", out.Incarnation))
	})
	return out, restoreFault(err)
}

// change executes a statement and stores its count: the returned number, else that of changed rows.
func (r *Restored) change(ctx context.Context, tx pgx.Tx, sql string, count func(*Restored) *int) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	returned, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || count == nil {
		return err
	}
	*count(r) = int(rows.CommandTag().RowsAffected())
	if len(returned) > 0 {
		*count(r) = returned[0]
	}
	return nil
}

func restoreFault(err error) error {
	switch codeOf(err) {
	case "55P03":
		return fault.Wrap(err, fault.Unavailable, "the database is in use",
			"stop all gateways and workers, then run `cairn restore accept` again")
	case "42501":
		return fault.Wrap(err, fault.Misconfigured, "the login of DATABASE_URL may not change the tables",
			"use the login of `cairn migrate`")
	}
	return classify("accept the restore", err)
}
