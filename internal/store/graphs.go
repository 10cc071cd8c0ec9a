package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// A workspace with many documents has its own HNSW graph over its vectors: a partial index that
// contains only its rows. Find then uses the graph instead of reading all vectors. Building and
// dropping a graph does not block writers.

// MinGraph is the minimum number of documents for a graph. Below it, Find reads all vectors
// anyway, which takes some milliseconds and is exact.
const MinGraph = 20_000

// Graphs lists the workspaces whose graph was built and those whose graph was dropped.
type Graphs struct{ Built, Dropped []int64 }

// MaintainVectorIndexes builds the missing graphs of workspaces with at least from documents, each in
// the space that it uses; configured is that of workspaces without one. It drops the graphs of
// workspaces with less than half of that, and of erased workspaces. The remains of an interrupted
// build are dropped and built again. url is a login that may act as the owner of the tables. If
// another process is doing this, nothing happens.
func (s *Store) MaintainVectorIndexes(ctx context.Context, url string, configured int16, from int) (done Graphs,
	err error) {
	err = s.asBuilder(ctx, url, func(conn *pgx.Conn, q *dbsqlc.Queries) error {
		big := map[int64]int32{}
		if err := s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
			rows, err := q.BigWorkspaces(ctx, int32(from/2))
			for _, r := range rows {
				big[r.WorkspaceID] = r.Docs
			}
			return err
		}); err != nil {
			return err
		}
		spaces, err := q.SpacesOpen(ctx)
		if err != nil {
			return classify("list the embedding spaces", err)
		}
		for _, space := range spaces {
			users, err := q.SpaceUsers(ctx, dbsqlc.SpaceUsersParams{Configured: configured, Space: space})
			if err != nil {
				return classify("list the users of a space", err)
			}
			users = slices.DeleteFunc(users, func(ws int64) bool { return big[ws] < int32(from) })
			if err := maintainSpace(ctx, conn, space, users, big, &done); err != nil {
				return err
			}
		}
		return nil
	})
	if fault.CodeOf(err) == fault.Unavailable && errors.Is(err, errBuilding) {
		return done, nil
	}
	return done, err
}

// maintainSpace drops the graphs of workspaces that are not big and those that are not valid, and
// builds those that are missing of the given workspaces.
func maintainSpace(ctx context.Context, conn *pgx.Conn, space int16, build []int64, big map[int64]int32,
	done *Graphs) error {
	there, err := dbsqlc.New(conn).VectorGraphs(ctx, space)
	if err != nil {
		return classify("list the graphs", err)
	}
	has := map[int64]bool{}
	for _, g := range there {
		if _, keep := big[g.WorkspaceID]; keep && g.Valid {
			has[g.WorkspaceID] = true
			continue
		}
		if err := dropGraph(ctx, conn, g.WorkspaceID, space); err != nil {
			return err
		}
		done.Dropped = append(done.Dropped, g.WorkspaceID)
	}
	for _, ws := range build {
		if has[ws] {
			continue
		}
		if err := buildGraph(ctx, conn, ws, space); err != nil {
			return err
		}
		done.Built = append(done.Built, ws)
	}
	return nil
}

// errBuilding means that another process builds graphs.
var errBuilding = errors.New("another process builds vector indexes")

// asBuilder runs fn as the owner of the tables, in one process at a time. If another process is
// building, the error is errBuilding, which is fault.Unavailable.
func (s *Store) asBuilder(ctx context.Context, url string, fn func(*pgx.Conn, *dbsqlc.Queries) error) error {
	conn, err := ownerOf(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	q := dbsqlc.New(conn)
	alone, err := q.GraphsLock(ctx)
	if err != nil {
		return classify("lock the graphs", err)
	}
	if !alone {
		return fault.Wrap(errBuilding, fault.Unavailable, "vector indexes are being built", "")
	}
	defer func() { _ = q.GraphsUnlock(context.WithoutCancel(ctx)) }() // sooner than the session's end
	return fn(conn, q)
}

// BuildVectorIndex builds the graph of one workspace in a space, unless there is one. If another
// process is building graphs, the error is fault.Unavailable.
func (s *Store) BuildVectorIndex(ctx context.Context, url string, ws int64, space int16) error {
	return s.asBuilder(ctx, url, func(conn *pgx.Conn, q *dbsqlc.Queries) error {
		there, err := q.VectorGraphs(ctx, space)
		if err != nil {
			return classify("list the graphs", err)
		}
		for _, g := range there {
			switch {
			case g.WorkspaceID != ws:
			case g.Valid:
				return nil
			default:
				if err := dropGraph(ctx, conn, ws, space); err != nil {
					return err
				}
			}
		}
		return buildGraph(ctx, conn, ws, space)
	})
}

// RetireSpaces drops the vectors of spaces that no workspace has used for some days, except keep,
// and returns the spaces.
func (s *Store) RetireSpaces(ctx context.Context, url string, keep []int16) (retired []int16, err error) {
	conn, err := ownerOf(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		space, err := dbsqlc.New(conn).SpaceRetire(ctx, keep)
		if err != nil || space == 0 {
			return retired, classify("retire an embedding space", err)
		}
		retired = append(retired, space)
	}
}

// GraphVectors builds the graph of one workspace of any size.
func GraphVectors(ctx context.Context, url string, ws int64, space int16) error {
	conn, err := ownerOf(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return buildGraph(ctx, conn, ws, space)
}

// ownerOf connects as the owner of the tables.
func ownerOf(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "invalid address of the database",
			"write it as postgres://user:password@host:port/database")
	}
	c.RuntimeParams["role"], c.RuntimeParams["search_path"] = "cairn_owner", "cairn, public"
	// The graph must fit into memory, otherwise the build takes four times as long.
	c.RuntimeParams["maintenance_work_mem"] = "1GB"
	c.RuntimeParams["max_parallel_maintenance_workers"] = "0" // CVE-2026-3172: parallel builds before pgvector 0.8.2
	conn, err := pgx.ConnectConfig(ctx, c)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == "42501" || refused.Code == "22023") {
		return nil, fault.Wrap(err, fault.Misconfigured, "the login that builds graphs cannot act as cairn_owner",
			"set CAIRN_GRAPH_DATABASE_URL to one that may, or CAIRN_GRAPH_FROM=0 to search big workspaces without "+
				"graphs")
	}
	return conn, classify("connect as the owner", err)
}

func buildGraph(ctx context.Context, conn *pgx.Conn, ws int64, space int16) error {
	statement, err := dbsqlc.New(conn).VectorIndexStatement(ctx,
		dbsqlc.VectorIndexStatementParams{WorkspaceID: ws, Space: space})
	if err != nil {
		return classify("write the statement of the graph", err)
	}
	_, err = conn.Exec(ctx, statement)
	return classify("build the graph", err)
}

func dropGraph(ctx context.Context, conn *pgx.Conn, ws int64, space int16) error {
	statement, err := dbsqlc.New(conn).VectorIndexDrop(ctx, dbsqlc.VectorIndexDropParams{WorkspaceID: ws, Space: space})
	if err != nil {
		return classify("write the statement that drops the graph", err)
	}
	_, err = conn.Exec(ctx, statement)
	return classify("drop the graph", err)
}
