// Package store stores Cairn's data in Postgres. All access to a workspace's rows goes through
// InWorkspace, which opens a transaction and enters the workspace in it; row-level security refuses
// everything else. WithSystem is for work without a workspace: the relay, leases and collection.
//
// A session is such a transaction. Each subject has a repository: an unexported type around the
// session, with the methods of that subject. Tx returns all of them.
//
// A service declares its ports: repositories of at most 8 methods, and a Tx that returns them. The
// file tx_<service>.go implements that Tx with a session. Each of its methods returns a repository
// of this package, or a struct that embeds several, as an interface of the service:
//
//	func (t offloadTx) Items() offload.ItemRepository { return t.transaction().Offloads() }
//
// A method of a repository reaches another subject through q.transaction().Outbox(), q.transaction().Runs() and so on.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgvector "github.com/pgvector/pgvector-go/pgx"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// Store is a pool of connections for each of the two roles that serve requests. Its methods are
// safe for concurrent use.
type Store struct {
	*pools
	intercept func(ctx context.Context, run func() error) error // set in tests only
}

// pools has the connections and what the process remembers of the database.
type pools struct {
	app    *pgxpool.Pool
	system *pgxpool.Pool

	workspaces *lru.Cache[string, access.Workspace] // by external ID; keys change with the incarnation only
	// incarnation of the database when this process last read it
	incarnation atomic.Int64
	vectors     *turnVectors
	endings     endings
	// notifications is where the process listens. nil means nowhere: a pooler passes on none.
	notifications *pgx.ConnConfig
	login         *login // of both pools
	direct        *login // of notifications
}

// Options configure the pools.
type Options struct {
	MaxConns int32 // of the application's pool; 0 means 16. The system pool has 4
	// Pooler is set if a pooler in transaction mode, such as PgBouncer, is between Cairn and Postgres.
	// Statements are then not prepared, and notifications come over DirectURL, if it is set.
	Pooler    bool
	DirectURL string
	// RereadURL and RereadDirectURL read an address again after Postgres rejected its login; nil if it
	// is not in a file. Only user and password are taken from it.
	RereadURL, RereadDirectURL func() (string, error)
}

// workspacesKept is the number of workspaces whose IDs are remembered: those used last.
const workspacesKept = 10_000

// systemConns suffices for one relay with its claims and its check of leases.
const systemConns = 4

// Open connects to url, whose login must be a member of cairn_app and cairn_system. It refuses a
// role that can bypass row-level security.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, invalidURL(err)
	}
	l := newLogin(c, o.RereadURL)
	app, err := servingPool(ctx, url, appRole, o.MaxConns, o, l)
	if err != nil {
		return nil, err
	}
	system, err := servingPool(ctx, url, systemRole, systemConns, o, l)
	if err != nil {
		app.Close()
		return nil, err
	}
	workspaces, _ := lru.New[string, access.Workspace](workspacesKept) // fails only for a size of 0
	s := &Store{pools: &pools{app: app, system: system, workspaces: workspaces,
		notifications: app.Config().ConnConfig, login: l, direct: l}}
	if err := s.ReadIncarnation(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if o.Pooler {
		if s.notifications, err = directConfig(o.DirectURL); err != nil {
			s.Close()
			return nil, err
		}
		if s.notifications != nil {
			s.direct = newLogin(s.notifications, o.RereadDirectURL)
		}
	}
	return s, nil
}

// directConfig returns the configuration of a connection without the pooler, nil without an address.
func directConfig(url string) (*pgx.ConnConfig, error) {
	if url == "" {
		return nil, nil
	}
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "invalid CAIRN_DATABASE_DIRECT_URL",
			"write it as postgres://user:password@host:port/database")
	}
	return c, nil
}

// servingPool returns a pool whose role has been checked.
func servingPool(ctx context.Context, url, role string, conns int32, o Options, l *login) (*pgxpool.Pool, error) {
	p, err := pool(ctx, url, role, conns, o, l)
	if err != nil {
		return nil, err
	}
	if err := checkRole(ctx, p, role); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Connections are those of a server.
type Connections struct {
	Most     int `json:"max_connections"`
	Reserved int `json:"superuser_reserved_connections"`
	Used     int `json:"used"` // at the moment
}

// Connections returns how many connections the server allows and has.
func (s *Store) Connections(ctx context.Context) (out Connections, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.ServerConnections(ctx)
		out = Connections{Most: int(r.Most), Reserved: int(r.Reserved), Used: int(r.Used)}
		return classify("read the limits of connections", err)
	})
	return out, err
}

// PerProcess returns the number of connections that a process opens at most: those of both pools,
// and the one that listens. A pooler takes those of the pools.
func PerProcess(conns int, pooler bool) int {
	if pooler {
		return 1
	}
	return conns + systemConns + 1
}

// Close closes all connections.
func (s *Store) Close() {
	s.endings.close()
	s.app.Close()
	s.system.Close()
}

// Ping returns an error if the database does not respond.
func (s *Store) Ping(ctx context.Context) error {
	return classify("ping the database", s.login.try(func() error { return s.app.Ping(ctx) }))
}

func invalidURL(err error) error {
	return fault.Wrap(err, fault.Misconfigured, "invalid DATABASE_URL",
		"write it as postgres://user:password@host:port/database")
}

func pool(ctx context.Context, url, role string, conns int32, o Options, l *login) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, invalidURL(err)
	}
	// Transactions set everything else, because a pooler can lose other parameters of a session.
	c.ConnConfig.RuntimeParams["application_name"] = role
	if o.Pooler {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	c.MaxConns = conns
	c.MaxConnIdleTime = 5 * time.Minute
	c.BeforeConnect, c.AfterConnect = l.apply, registerTypes
	c.ConnConfig.OnPgError = keepConnection
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, classify("open the database", err)
	}
	if err := l.try(func() error { return p.Ping(ctx) }); err != nil {
		p.Close()
		return nil, connectionFault(role, err)
	}
	return p, nil
}

// keepConnection reports whether a connection can be used after an error of the server. One to a
// demoted primary is closed, so that the pool finds the new primary.
func keepConnection(_ *pgconn.PgConn, err *pgconn.PgError) bool {
	return !strings.EqualFold(err.Severity, "FATAL") && err.Code != readOnly
}

// registerTypes registers the vector types on a connection. If a working connection has none, its
// database was never migrated.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	types.RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID,
		Codec: &pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: unmarshal}})
	types.RegisterType(&pgtype.Type{Name: "jsonb", OID: pgtype.JSONBOID,
		Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: unmarshal}})
	err := pgvector.RegisterTypes(ctx, conn)
	if err != nil && ctx.Err() == nil && !conn.IsClosed() {
		return fault.Wrap(err, fault.Misconfigured, "pgvector types not found", "run `cairn migrate`")
	}
	return err
}

// unmarshal passes JSON through without decoding it.
func unmarshal(data []byte, into any) error {
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = slices.Clone(data)
		return nil
	}
	return json.Unmarshal(data, into)
}

// connectionFault converts a failed connection to an error that names the setting to correct.
func connectionFault(role string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "42501":
			return fault.Wrap(err, fault.Misconfigured, "the login of DATABASE_URL cannot act as "+role,
				"grant cairn_app and cairn_system to it")
		case "22023":
			return fault.Wrap(err, fault.Misconfigured, "the server has no role "+role, "run `cairn migrate`")
		case invalidLogin, invalidPassword, "3D000":
			return fault.Wrap(err, fault.Misconfigured, "Postgres rejected DATABASE_URL",
				"correct its user, password and database")
		}
	}
	return classify("connect to the database as "+role, err)
}

// checkRole returns an error if row-level security does not apply to the role, or if the login has
// rights on rows without it.
func checkRole(ctx context.Context, p *pgxpool.Pool, role string) error {
	var r dbsqlc.SessionRolesRow
	err := inRole(ctx, p, role, 0, func(q *dbsqlc.Queries) (err error) {
		r, err = q.SessionRoles(ctx)
		return err
	})
	if err != nil {
		return connectionFault(role, err)
	}
	if r.Super || r.Bypass || r.Owns {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf(
				"row-level security does not apply to the database role %s (superuser %t, bypassrls %t, owner %t)",
				r.Role, r.Super, r.Bypass, r.Owns),
			"use a login that is only a member of cairn_app and cairn_system")
	}
	if r.Inherits {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the login %s has the rights of cairn_app or cairn_system without acting as them", r.Login),
			repairLogin(r.Login))
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

// InWorkspace runs fn in a transaction that has entered ws. It commits if fn returns nil and rolls
// back otherwise. An unknown workspace is NotFound; one that is being erased is Erasing.
func (s *Store) InWorkspace(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error {
	return s.within(ctx, readCommitted, ws, fn)
}

// WithSystem runs fn in a transaction of the system role.
func (s *Store) WithSystem(ctx context.Context, fn func(*dbsqlc.Queries) error) error {
	return s.staleProcess(ctx, s.login.try(func() error {
		return inRole(ctx, s.system, systemRole, s.expected(ctx), fn)
	}))
}

// asApp runs fn in a transaction of the application's role that has entered no workspace.
func (s *Store) asApp(ctx context.Context, fn func(*dbsqlc.Queries) error) error {
	return s.staleProcess(ctx, s.login.try(func() error {
		return inRole(ctx, s.app, appRole, s.expected(ctx), fn)
	}))
}

// isConnectionError reports whether a connection could not be opened, or broke.
func isConnectionError(err error) bool {
	var (
		connect *pgconn.ConnectError
		broken  *net.OpError
	)
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// codeOf returns the SQLSTATE of a database error, "" of other errors. Cairn's own functions raise
// CA001 and following.
func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// classify adds a fault code to database errors. Errors that already have one, and other errors,
// are passed through.
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
	return classifyState(codeOf(err), err)
}

// readOnly is the SQLSTATE of a write on a standby, or on a server that was demoted to one.
const readOnly = "25006"

// wrongRole is the SQLSTATE of a session whose role is not the one that Cairn has set.
const wrongRole = "CA004"

// classifyState adds a fault code by the SQLSTATE of err, which is "" for other errors.
func classifyState(state string, err error) error {
	switch state {
	case "":
		if !errors.Is(err, pgx.ErrNoRows) && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, context.DeadlineExceeded) && isConnectionError(err) {
			return fault.Wrap(err, fault.Unavailable, "the database does not respond", "")
		}
		return err
	case "CA001":
		return fault.Wrap(err, fault.Erasing, "the workspace is being erased", "")
	case "CA002":
		return fault.Wrap(err, fault.NotFound, "workspace not found", "")
	case "CA003":
		return fault.Wrap(err, fault.NotFound, "conversation not found", "")
	case wrongRole:
		return fault.Wrap(err, fault.Misconfigured, "the database session has another role than Cairn set",
			"check the pooler between Cairn and Postgres; see docs/operations/poolers.md")
	case "CA005":
		return fault.Wrap(err, fault.StaleIncarnation, "the database was restored from a backup", "")
	case "42501": // row-level security refused a write to another workspace, or a grant is missing
		return fault.Wrap(err, fault.Unavailable, "the database refused the write",
			"report this error with its entry in the log")
	case "42P01", "3F000", "42883", "42703":
		return fault.Wrap(err, fault.Misconfigured, "the database's schema is older than this program",
			"run `cairn migrate`")
	case invalidLogin, invalidPassword: // while a password is changed, the next attempt can succeed
		return fault.Wrap(err, fault.Unavailable, "Postgres rejected the login of this process",
			"correct the user and password of DATABASE_URL; if it is in a file, no restart is needed")
	case readOnly:
		return fault.Wrap(err, fault.Unavailable, "the database is read-only",
			"try again in a few seconds; during a failover, writes continue on the new primary")
	case "40001", "40P01":
		return fault.Wrap(err, fault.Unavailable, "the database is temporarily unavailable", "")
	}
	switch state[:2] {
	case "08", "53", "57": // connection exception, insufficient resources, operator intervention
		return fault.Wrap(err, fault.Unavailable, "the database is temporarily unavailable", "")
	case "22": // data exception
		// The cause would show the caller what the database says, and it adds nothing.
		return fault.New(fault.InvalidArgument, "the database cannot store a value of the request",
			"remove NUL characters, invalid dates and numbers that are out of range")
	}
	return err
}
