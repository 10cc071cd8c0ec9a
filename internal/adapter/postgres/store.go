// Package postgres is the one Postgres. All access to a workspace's rows goes
// through InWorkspace, which opens a transaction and enters the workspace in
// it; row-level security refuses everything else. WithSystem is for what has no
// workspace yet: the relay, leases, collection.
//
// A session is such a transaction. Each subject has a repository: an unexported type
// around the session, with the methods of that subject. Tx returns all of them.
//
// A service declares what it needs: repositories of at most 8 methods, and a Tx that
// returns them. The file tx_<service>.go makes such a Tx of a session. Each method of
// it returns a repository of this package, or a struct that embeds several, as an
// interface of the service:
//
//	func (t offloadTx) Items() offload.ItemRepository { return t.offloads() }
//
// A method of a repository reaches another subject by q.outbox(), q.runs() and so on.
package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgvector "github.com/pgvector/pgvector-go/pgx"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
)

// Store is a pool of connections for each of the two roles that serve requests.
type Store struct {
	app    *pgxpool.Pool
	system *pgxpool.Pool

	workspaces sync.Map // external id → Workspace; ids and keys never change, until it is erased
	vectors    *turnVectors
	endings    endings
}

// Options tune the pools.
type Options struct {
	MaxConns int32 // of the application's pool; 0 means 16. The system pool has 4
}

// systemConns is enough for one relay with its claims and its watch over leases.
const systemConns = 4

// Open connects to url, which names a login that is a member of cairn_app and
// cairn_system, and refuses a session whose role could look past row-level
// security.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	app, err := servingPool(ctx, url, "cairn_app", o.MaxConns)
	if err != nil {
		return nil, err
	}
	system, err := servingPool(ctx, url, "cairn_system", systemConns)
	if err != nil {
		app.Close()
		return nil, err
	}
	return &Store{app: app, system: system}, nil
}

// servingPool is a pool whose role has been checked.
func servingPool(ctx context.Context, url, role string, conns int32) (*pgxpool.Pool, error) {
	p, err := pool(ctx, url, role, conns)
	if err != nil {
		return nil, err
	}
	if err := checkRole(ctx, p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close gives the connections back.
func (s *Store) Close() {
	s.endings.close()
	s.app.Close()
	s.system.Close()
}

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return classify("ping the database", s.app.Ping(ctx))
}

func pool(ctx context.Context, url, role string, conns int32) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "DATABASE_URL cannot be read",
			"write it as postgres://user:password@host:port/database")
	}
	// As start-up parameters these are what RESET returns to, too.
	c.ConnConfig.RuntimeParams["role"] = role
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	c.ConnConfig.RuntimeParams["application_name"] = role
	// A cached generic plan chosen for one workspace is a disaster for another.
	c.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	c.MaxConns = conns
	c.MaxConnIdleTime = 5 * time.Minute
	c.AfterConnect = registerTypes
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, classify("open the database", err)
	}
	if err := p.Ping(ctx); err != nil {
		p.Close()
		return nil, refused(role, err)
	}
	return p, nil
}

// registerTypes makes a connection know vectors. A connection that still works
// and does not have them is to a database that was never migrated.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	types.RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID,
		Codec: &pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: unmarshal}})
	types.RegisterType(&pgtype.Type{Name: "jsonb", OID: pgtype.JSONBOID,
		Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: unmarshal}})
	err := pgvector.RegisterTypes(ctx, conn)
	if err != nil && ctx.Err() == nil && !conn.IsClosed() {
		return fault.Wrap(err, fault.Misconfigured, "the database has no vectors", "run `cairn migrate`")
	}
	return err
}

// unmarshal takes JSON that nobody wants to have decoded as the server wrote it.
func unmarshal(data []byte, into any) error {
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = slices.Clone(data)
		return nil
	}
	return json.Unmarshal(data, into)
}

// refused tells which setting a failed connection asks to be corrected.
func refused(role string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "42501":
			return fault.Wrap(err, fault.Misconfigured, "the login of DATABASE_URL may not act as "+role,
				"grant cairn_app and cairn_system to it")
		case "22023":
			return fault.Wrap(err, fault.Misconfigured, "the server has no role "+role, "run `cairn migrate`")
		case "28000", "28P01", "3D000":
			return fault.Wrap(err, fault.Misconfigured, "the server turns DATABASE_URL down",
				"correct its user, password and database")
		}
	}
	return classify("connect to the database as "+role, err)
}

// checkRole refuses to serve as a role that row-level security does not bind.
func checkRole(ctx context.Context, p *pgxpool.Pool) error {
	r, err := dbsqlc.New(p).SessionRoles(ctx)
	if err != nil {
		return classify("read the session's role", err)
	}
	if r.Super || r.Bypass || r.Owns {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf(
				"the database role %s is not bound by row-level security (superuser %t, bypassrls %t, owner %t)",
				r.Role, r.Super, r.Bypass, r.Owns),
			"connect as a login that is only a member of cairn_app and cairn_system")
	}
	return nil
}

// session is a transaction that has entered a workspace.
type session struct {
	ws      int64
	q       *dbsqlc.Queries
	tx      pgx.Tx
	vectors *turnVectors
}

// InWorkspace runs fn in a transaction that has entered ws, commits when fn
// returns nil and rolls back otherwise. A workspace that is unknown is NotFound,
// one that is being erased is Erasing.
func (s *Store) InWorkspace(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error {
	return s.within(ctx, readCommitted, ws, fn)
}

// WithSystem runs fn in a transaction of the system role.
func (s *Store) WithSystem(ctx context.Context, fn func(*dbsqlc.Queries) error) error {
	return classify("", pgx.BeginFunc(ctx, s.system, func(tx pgx.Tx) error { return fn(dbsqlc.New(tx)) }))
}

// isAway tells that a connection could not be made, or broke.
func isAway(err error) bool {
	var (
		connect *pgconn.ConnectError
		broken  *net.OpError
	)
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// codeOf is the SQLSTATE of what the database says, "" of anything else. Our own
// functions raise CA001 and following.
func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// classify gives database trouble its code. Errors that already carry one, and
// errors that are not the database's, pass through.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if doing != "" {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	switch codeOf(err) {
	case "":
		if !errors.Is(err, pgx.ErrNoRows) && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, context.DeadlineExceeded) && isAway(err) {
			return fault.Wrap(err, fault.Unavailable, "the database does not answer", "")
		}
	case "CA001":
		return fault.Wrap(err, fault.Erasing, "the workspace is being erased", "")
	case "CA002":
		return fault.Wrap(err, fault.NotFound, "there is no such workspace", "")
	case "CA003":
		return fault.Wrap(err, fault.NotFound, "there is no such conversation", "")
	case "42501": // row-level security refused a write for another workspace, or a grant is missing
		return fault.Wrap(err, fault.Unavailable, "the database refused the write",
			"look for this message in the log: it should not happen")
	case "42P01", "3F000", "42883", "42703":
		return fault.Wrap(err, fault.Misconfigured, "the database's schema is older than this program",
			"run `cairn migrate`")
	case "57P01", "57P02", "57P03", "53300", "40001", "40P01":
		return fault.Wrap(err, fault.Unavailable, "the database cannot answer now", "")
	}
	return err
}
