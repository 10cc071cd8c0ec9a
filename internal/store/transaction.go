package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
	"cairn/internal/store/dbsqlc"
)

// The roles of transactions.
const (
	appRole    = "cairn_app"
	systemRole = "cairn_system"
)

// The statements that begin a transaction, set its role, and enter its workspace. Everything is set
// for the transaction only, so that it also works behind a pooler.
const (
	openRole = "set local role %s; select set_config('search_path', 'cairn, public', true), "
	openApp  = "set local role cairn_app; select set_config('search_path', 'cairn, public', true), "
	// A cached generic plan that suits one workspace can be very slow for another.
	customPlans    = "set_config('plan_cache_mode', 'force_custom_plan', true), "
	inRoleOnly     = "begin; " + openRole + customPlans + "cairn.require_role('%[1]s', %[2]d)"
	readCommitted  = "begin; " + openApp + customPlans + "cairn.enter(%d, %d)"
	repeatableRead = "begin isolation level repeatable read; " + openApp + customPlans + "cairn.enter(%d, %d)"
	// byKeys is for statements that find their rows by keys. Each is planned once per connection,
	// because planning takes longer than running it. The tables may be small at that time, so
	// sequential scans are disabled.
	byKeys = "begin; " + openApp + "set_config('plan_cache_mode', 'force_generic_plan', true), " +
		"set_config('enable_seqscan', 'off', true), cairn.enter(%d, %d)"
)

// inRole runs fn in a transaction of a role that has entered no workspace. expected is the
// incarnation that the database must have; 0 means any.
func inRole(ctx context.Context, p *pgxpool.Pool, role string, expected int, fn func(*dbsqlc.Queries) error) error {
	tx, err := p.BeginTx(ctx, pgx.TxOptions{BeginQuery: fmt.Sprintf(inRoleOnly, role, expected)})
	if err != nil {
		return openingFault(p, role, "", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no effect after a commit
	if err := fn(dbsqlc.New(tx)); err != nil {
		return classify("", err)
	}
	return classify("commit", tx.Commit(ctx))
}

// openingFault classifies an error of the statements that begin a transaction. If the session has not
// the role that they set, the hint names the statements that correct the login.
func openingFault(p *pgxpool.Pool, role, doing string, err error) error {
	switch codeOf(err) {
	case "42501", wrongRole:
		return fault.Wrap(err, fault.Misconfigured, "the database session does not act as "+role,
			"check that the pooler before Postgres keeps `set local role` in a transaction, and "+
				repairLogin(p.Config().ConnConfig.User))
	}
	return classify(doing, err)
}

// repairLogin names the statements that give a login the two roles without their rights.
func repairLogin(login string) string {
	return fmt.Sprintf("run `alter role %[1]s noinherit; revoke cairn_app, cairn_system from %[1]s; "+
		"grant cairn_app, cairn_system to %[1]s`", pgx.Identifier{login}.Sanitize())
}

// within runs fn in a transaction that has entered ws. The context of fn is marked, and network
// adapters reject it. within commits if fn returns nil and rolls back otherwise. The begin and the
// entry are sent together. If the entry is refused, the driver drops the connection, as it does
// whenever a begin fails.
func (s *Store) within(ctx context.Context, opening string, ws int64, fn func(context.Context, Tx) error) error {
	run := func() error { return s.transact(ctx, opening, ws, fn) }
	if s.intercept != nil {
		return s.intercept(ctx, run)
	}
	return run()
}

// Intercept returns a store with the same connections for tests of failures. Its transactions in workspaces go through
// around, which calls run, or fails as if the process had died before the transaction or after its commit.
func (s *Store) Intercept(around func(ctx context.Context, run func() error) error) *Store {
	return &Store{pools: s.pools, intercept: around}
}

func (s *Store) transact(ctx context.Context, opening string, ws int64, fn func(context.Context, Tx) error) error {
	var tx pgx.Tx
	err := s.login.try(func() (err error) {
		tx, err = s.app.BeginTx(ctx, pgx.TxOptions{BeginQuery: fmt.Sprintf(opening, ws, s.expected(ctx))})
		return err
	})
	if err != nil {
		err = s.staleProcess(ctx, openingFault(s.app, appRole, "enter the workspace", err))
		if code := fault.CodeOf(err); code == fault.Erasing || code == fault.NotFound {
			s.forget(ws)
		}
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no effect after a commit
	if err := fn(txscope.Enter(ctx), Tx{session{ws: ws, q: dbsqlc.New(tx), tx: tx, vectors: s.vectors}}); err != nil {
		return classify("", err)
	}
	return classify("commit", tx.Commit(ctx))
}

// InWorkspaceByKeys is InWorkspace for statements that find their rows by keys.
func (s *Store) InWorkspaceByKeys(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error {
	return s.within(ctx, byKeys, ws, fn)
}

// InSnapshot is InWorkspace with all statements on one snapshot of the database.
func (s *Store) InSnapshot(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error {
	return s.within(ctx, repeatableRead, ws, fn)
}

// collect adds a statement to a batch. Its rows are in out when the batch is closed. The columns of
// sql must be in the order of T's fields.
func collect[T any](b *pgx.Batch, doing string, out *[]T, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return classify(doing, err)
	})
}

// send runs the statements of a batch in one round trip and reads their results in order, up to the
// first failure.
func (q session) send(ctx context.Context, b *pgx.Batch) error {
	return classify("", q.tx.SendBatch(ctx, b).Close())
}

// planForMany prepares the transaction for statements that write hundreds of rows. Statistics may
// not know the workspace yet, and cached plans may date from when the tables were small. Such a plan
// reads all rows of the workspace for each foreign key. So each statement is planned again, once,
// for any workspace.
func (q session) planForMany(ctx context.Context) error {
	_, err := q.tx.Exec(ctx, "discard plans; set local plan_cache_mode = force_generic_plan; "+
		"set local enable_seqscan = off", pgx.QueryExecModeSimpleProtocol)
	return classify("prepare for many rows", err)
}

// inWorkspace returns the result of fn in a transaction that has entered ws.
func inWorkspace[T any](ctx context.Context, s *Store, ws int64,
	fn func(context.Context, Tx) (T, error)) (out T, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) (err error) {
		out, err = fn(ctx, q)
		return err
	})
	return out, err
}
