package store_test

import (
	"context"
	"sync"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/lab/pgtest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Behind PgBouncer in transaction mode, transactions of many workspaces share two connections. Each
// sees its own rows only, and no transaction finds the role or workspace of the one before.
func TestTransactionsKeepTheirWorkspaceBehindAPooler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	s, err := store.Open(t.Context(), pgtest.Pooler(t, b.login(roleName(), "cairn_app", "cairn_system")),
		store.Options{MaxConns: 8, Pooler: true})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	var running sync.WaitGroup
	for i := range 8 {
		ws, want := b.a, 1
		if i%2 == 1 {
			ws, want = b.b, 0
		}
		running.Go(func() { manyReads(t, s, ws, want) })
	}
	running.Wait()
	if _, err := s.Backlog(t.Context()); err != nil { // the system's pool
		t.Error(err)
	}
}

// manyReads counts the skills of a workspace in many transactions.
func manyReads(t *testing.T, s *store.Store, ws access.Workspace, want int) {
	for range 40 {
		err := s.InWorkspace(t.Context(), ws.ID, func(ctx context.Context, q store.Tx) error {
			n, err := q.Skills().SkillCount(ctx)
			if err == nil && n != want {
				t.Errorf("workspace %s sees %d skills, want %d", ws.Name, n, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}
