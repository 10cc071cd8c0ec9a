package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Check 6: two hundred workspaces share four connections in random order, and their transactions
// end in every way. Each has a conversation of the same name, and finds only its own.
func TestTwoHundredWorkspacesShareFourConnections(t *testing.T) {
	t.Parallel()
	const workspaces, borrowers, each = 200, 32, 60
	b := setup(t) // a pool of 4
	ids := make([]int64, workspaces)
	for i := range ids {
		ws, err := b.Workspace(t.Context(), fmt.Sprintf("tenant-%d", i), true)
		testkit.Must(t, err)
		ids[i] = ws.ID
	}
	b.exec("insert into conversations (workspace_id, external_id, title) select id, 'c', 'of ' || id from workspaces")
	var looks, writes atomic.Int64
	var borrowing sync.WaitGroup
	for n := range borrowers {
		borrowing.Go(func() {
			draw := rand.New(rand.NewPCG(6, uint64(n)))
			for range each {
				ws, ends := ids[draw.IntN(workspaces)], draw.IntN(5)
				ctx, cancel := context.WithCancel(t.Context())
				err := b.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
					self, err := q.Workspaces().Self(ctx)
					if err != nil {
						return err
					}
					found, err := q.ConversationViews().ConversationView(ctx, "c")
					if err != nil {
						return err
					}
					if looks.Add(1); self.ID != ws || found.Title != fmt.Sprint("of ", ws) {
						t.Errorf("workspace %d reads that it is %d and has %+v", ws, self.ID, found)
					}
					switch ends {
					case 0:
						return errLeave
					case 1:
						cancel()
						return ctx.Err()
					case 2: // a statement that the policies refuse
						return q.Astray(ids[draw.IntN(workspaces)]+1_000_000).Outbox().
							Enqueue(ctx, outbox.DriveRun, "1", 0)
					}
					return q.Outbox().Enqueue(ctx, outbox.EmbedDoc, fmt.Sprint(ws), 0)
				})
				cancel()
				switch {
				case ends > 2 && err != nil, ends == 0 && !errors.Is(err, errLeave),
					ends == 2 && sqlState(err) != "42501":
					t.Errorf("workspace %d, ending %d: %v", ws, ends, err)
				case ends > 2:
					writes.Add(1)
				}
			}
		})
	}
	borrowing.Wait()
	if n := looks.Load(); n != borrowers*each {
		t.Errorf("%d looks, want %d", n, borrowers*each)
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key <> workspace_id::text"); n != 0 {
		t.Errorf("%d duties stand in another workspace than their own", n)
	}
	if got := b.number("select count(*) from outbox where kind = 'embed'"); got == 0 || got > workspaces ||
		writes.Load() < workspaces {
		t.Errorf("%d duties after %d writes", got, writes.Load())
	}
}

var errLeave = errors.New("left without a commit")
