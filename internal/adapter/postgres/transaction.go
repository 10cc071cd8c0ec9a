package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
)

// A step of a workflow is a handful of short transactions, and most of its time
// in the database is the way there. So statements travel together: the door to a
// workspace with the transaction's begin, and what nobody needs to know yet with
// the next statement that somebody waits for.

// transaction is a connection in a transaction. Statements that were put aside
// go out before the next one that is read, in their order and in one round trip
// with it; what went wrong with one is told then, or by the commit.
type transaction struct {
	conn    *pgxpool.Conn
	aside   []statement
	refused bool // at the workspace's door
	once    bool // as of opening
	byKeys  bool // scans are no choice
	ended   bool // the commit went out so
}

// statement is one that was put aside. take reads its outcome. What the server
// would commit although it may be a failure to us, such as rows that were read
// and are not those expected, is checked: it does not travel with the commit.
type statement struct {
	sql     string
	args    []any
	take    func(pgx.BatchResults) error
	checked bool
}

// opening is how a transaction begins and enters its workspace.
type opening struct {
	begin, enter string
	inside       bool // before its first statement, for what does something else than asking the database
	once         bool // the first statement that is read is the last, and the commit goes out with it
}

var (
	atOnce   = opening{begin: "begin", enter: dbsqlc.WorkspaceEnter, inside: true}
	inOne    = opening{begin: "begin", enter: dbsqlc.WorkspaceEnterToSearch, once: true} // round trip, of one statement that is read
	snapshot = opening{begin: "begin isolation level repeatable read", enter: dbsqlc.WorkspaceEnter, inside: true}
	// byKeys is for statements that find their rows by keys: planning them anew each
	// time would take longer than running them.
	byKeys      = opening{begin: "begin", enter: dbsqlc.WorkspaceEnterByKeys}
	byKeysInOne = opening{begin: "begin", enter: dbsqlc.WorkspaceEnterByKeys, once: true}
)

// begin puts aside the beginning of a transaction in ws.
func begin(conn *pgxpool.Conn, o opening, ws int64) *transaction {
	t := &transaction{conn: conn, once: o.once, byKeys: o.enter == dbsqlc.WorkspaceEnterByKeys}
	t.put(o.begin, nil, func(_ pgconn.CommandTag, err error) error { return classify("begin", err) })
	t.put(o.enter, []any{ws}, func(_ pgconn.CommandTag, err error) error {
		err = classify("enter the workspace", err)
		code := fault.CodeOf(err)
		t.refused = err != nil && (code == fault.Erasing || code == fault.NotFound)
		return err
	})
	return t
}

func (t *transaction) put(sql string, args []any, outcome func(pgconn.CommandTag, error) error) {
	t.aside = append(t.aside, statement{sql: sql, args: args, take: func(r pgx.BatchResults) error { return outcome(r.Exec()) }})
}

// send brings out what was put aside and one more statement, whose outcome is
// left in the results, which the caller closes. Without a statement it only
// brings out the others.
func (t *transaction) send(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	var all pgx.Batch
	aside := t.aside
	t.aside = nil
	for _, s := range aside {
		all.Queue(s.sql, s.args...)
	}
	if sql != "" {
		all.Queue(sql, args...)
		if t.once {
			all.Queue("commit") // what fails before it is told first, and nothing after that is run
			t.ended = true
		}
	}
	results := t.conn.SendBatch(ctx, &all)
	for _, s := range aside {
		if err := s.take(results); err != nil {
			_ = results.Close() // of the same failure
			return nil, err
		}
	}
	return results, nil
}

// flush brings out what was put aside.
func (t *transaction) flush(ctx context.Context) error {
	if len(t.aside) == 0 {
		return nil
	}
	results, err := t.send(ctx, "", nil)
	if err != nil {
		return err
	}
	return results.Close()
}

// commit ends a transaction whose statements have all succeeded. The server
// answers a commit of any other with a rollback, which is no success.
func (t *transaction) commit(ctx context.Context) error {
	if t.ended {
		return nil
	}
	if slices.ContainsFunc(t.aside, func(s statement) bool { return s.checked }) {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	t.put("commit", nil, func(tag pgconn.CommandTag, err error) error {
		if err == nil && tag.String() == "ROLLBACK" {
			return pgx.ErrTxCommitRollback
		}
		return err
	})
	return t.flush(ctx)
}

// rollback ends a transaction for cause, which it returns. A connection that
// cannot do it is not used again.
func (t *transaction) rollback(ctx context.Context, cause error) error {
	t.aside = nil
	if pg := t.conn.Conn(); !pg.IsClosed() && pg.PgConn().TxStatus() != 'I' {
		_, _ = t.conn.Exec(context.WithoutCancel(ctx), "rollback")
	}
	return cause
}

// Exec, Query and QueryRow are what generated queries run on.

// Exec runs a statement now.
func (t *transaction) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if len(t.aside) == 0 {
		return t.conn.Exec(ctx, sql, args...)
	}
	results, err := t.send(ctx, sql, args)
	if err != nil {
		return tag, err
	}
	tag, err = results.Exec()
	return tag, errors.Join(err, results.Close())
}

// Query reads rows now.
func (t *transaction) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if len(t.aside) == 0 {
		return t.conn.Query(ctx, sql, args...)
	}
	results, err := t.send(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // of the same failure
		return nil, err
	}
	return &lastRows{Rows: rows, results: results}, nil
}

// QueryRow reads one row now.
func (t *transaction) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := t.Query(ctx, sql, args...)
	return oneOf{rows, err}
}

// lastRows are the rows of the last statement of a batch, which ends with them.
type lastRows struct {
	pgx.Rows
	results pgx.BatchResults
	err     error
}

func (r *lastRows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.Close()
	}
	return more
}

func (r *lastRows) Close() {
	r.Rows.Close()
	if r.results != nil {
		r.err, r.results = r.results.Close(), nil
	}
}

func (r *lastRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// oneOf is the first of some rows.
type oneOf struct {
	rows pgx.Rows
	err  error
}

func (o oneOf) Scan(into ...any) error {
	if o.err != nil {
		return o.err
	}
	defer o.rows.Close()
	if !o.rows.Next() {
		if err := o.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := o.rows.Scan(into...); err != nil {
		return err
	}
	o.rows.Close()
	return o.rows.Err()
}

// soon are queries that are put aside, one at a time. They must change so many
// rows, any number when it is negative, as of an insert, which writes its rows or
// fails. What they return says nothing.
func (q Queries) soon(doing string, rows int64) *dbsqlc.Queries {
	return q.soonOr(doing, rows, nil)
}

// soonOr is soon with the error of another number of rows.
func (q Queries) soonOr(doing string, rows int64, otherwise error) *dbsqlc.Queries {
	return dbsqlc.New(putter{t: q.t, rows: rows, outcome: func(_ pgconn.CommandTag, err error) error {
		if otherwise != nil && codeOf(err) == "CA004" {
			return otherwise
		}
		return classify(doing, err)
	}})
}

// putter puts statements aside that would be run.
type putter struct {
	t       *transaction
	rows    int64 // that each must change, any number when it is negative
	outcome func(pgconn.CommandTag, error) error
}

func (p putter) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if p.rows >= 0 { // the server counts, so that the commit can follow unasked
		sql = fmt.Sprintf("with c as (%s returning 1) select cairn.changed(count(*), %d) from c", sql, p.rows)
	}
	p.t.put(sql, args, p.outcome)
	return pgconn.CommandTag{}, nil
}

// Query puts aside a statement whose rows nobody reads.
func (p putter) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	p.t.put(sql, args, p.outcome)
	return nothing{}, nil
}

// nothing is the rows of a statement that was put aside.
type nothing struct{ pgx.Rows }

func (nothing) Close()     {}
func (nothing) Err() error { return nil }
func (nothing) Next() bool { return false }

var errRead = errors.New("what is read cannot be put aside")

func (p putter) QueryRow(context.Context, string, ...any) pgx.Row { return oneOf{err: errRead} }

// ahead puts a query aside whose rows are in out once the next statement has been
// read. Columns of sql stand in the order of T's fields.
func ahead[T any](q Queries, doing string, out *[]T, sql string, args ...any) {
	q.t.aside = append(q.t.aside, statement{sql: sql, args: args, checked: true, take: func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err == nil {
			*out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		}
		return classify(doing, err)
	}})
}
