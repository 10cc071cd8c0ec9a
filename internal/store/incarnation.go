package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// expected returns the incarnation that the database must have in transactions of ctx: that of the
// activity's workflow, or the one that this process knows.
func (s *Store) expected(ctx context.Context) int {
	if n := run.IncarnationOf(ctx); n != 0 {
		return n
	}
	return int(s.incarnation.Load())
}

// ReadIncarnation reads the database's incarnation and forgets the keys of workspaces, which contain
// it.
func (s *Store) ReadIncarnation(ctx context.Context) error {
	var n int32
	err := inRole(ctx, s.system, systemRole, 0, func(q *dbsqlc.Queries) (err error) {
		n, err = q.Incarnation(ctx)
		return classify("read the incarnation of the database", err)
	})
	if err != nil {
		return err
	}
	s.incarnation.Store(int64(n))
	s.workspaces.Purge()
	return nil
}

// staleProcess handles the refusal of a process that ran during a restore: the process reads the
// new incarnation, and its caller tries again. An activity of an earlier incarnation stays refused.
func (s *Store) staleProcess(ctx context.Context, err error) error {
	if fault.CodeOf(err) != fault.StaleIncarnation || run.IncarnationOf(ctx) != 0 {
		return err
	}
	if read := s.ReadIncarnation(ctx); read != nil {
		return read
	}
	return fault.Wrap(err, fault.Unavailable, "the database was restored from a backup", "try again")
}

// lostRun distinguishes a run that the database has forgotten in a restore from one that was erased,
// because an erasure stores the IDs of the runs that it deletes. Only activities can ask for a lost
// run: their workflows know its ID from an earlier commit.
func (q session) lostRun(ctx context.Context, id string, err error) error {
	if err == nil || !isNoRows(err) || run.IncarnationOf(ctx) == 0 {
		return noRun(id, err)
	}
	erased, failed := q.q.RunErased(ctx, dbsqlc.RunErasedParams{WorkspaceID: q.ws, ID: id})
	if failed != nil {
		return classify("find an erased run", failed)
	}
	if erased {
		return noRun(id, err)
	}
	return fault.Wrap(run.ErrLost, fault.StaleIncarnation,
		fmt.Sprintf("run %s was lost in a restore of the database", id), "")
}

// CountLostCommit counts an activity whose run the database has lost.
func (s *Store) CountLostCommit(ctx context.Context) error {
	return classify("count a lost commit", inRole(ctx, s.system, systemRole, 0,
		func(q *dbsqlc.Queries) error { return q.LostCommitCount(ctx) }))
}

// LostCommits returns the number of activities that did not find their run since the database was
// created, and how many of them no `cairn restore accept` has accepted.
func (s *Store) LostCommits(ctx context.Context) (total, open int64, err error) {
	err = inRole(ctx, s.system, systemRole, 0, func(q *dbsqlc.Queries) error {
		r, err := q.LostCommits(ctx)
		total, open = r.LostCommits, r.Open
		return classify("count the lost commits", err)
	})
	return total, open, err
}
