package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/pgtest"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// written is the result of a write in these tests.
type written struct {
	Content string `json:"content"`
}

// write runs an effect once under an actor's operation ID, and counts its runs in effects. The
// effect revokes sessions, which a rollback reverts.
func write(db *pgtest.Store, a agent.Actor, args any, effects *int, result error) (written, error) {
	return memories.Once(db.T.Context(), db.InWorkspace, a, "test_write", args,
		func(ctx context.Context, tx store.Tx) (written, error) {
			*effects++
			if _, err := tx.Sessions().RevokeSessions(ctx); err != nil {
				return written{}, err
			}
			return written{"first"}, result
		})
}

func TestAWriteHappensOnceUnderItsOperation(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	a, effects := db.User(), 0
	for range 3 {
		if got, err := write(db, a, "one", &effects, nil); err != nil || got.Content != "first" {
			t.Errorf("written %+v, %v", got, err)
		}
	}
	if effects != 1 {
		t.Errorf("the effect ran %d times", effects)
	}
	if _, err := write(db, a, "two", &effects, nil); fault.CodeOf(err) != fault.OpReused || fault.From(err).Hint == "" {
		t.Errorf("the same operation with other arguments: %v", err)
	}
	other := a
	other.Workspace = db.B.ID
	if _, err := write(db, other, "two", &effects, nil); err != nil || effects != 2 {
		t.Errorf("the same id in another workspace: %v after %d effects", err, effects)
	}
}

func TestAWriteNeedsAnOperation(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	a, effects := db.User(), 0
	a.Op = ""
	_, err := write(db, a, "one", &effects, nil)
	if fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Hint == "" || effects != 0 {
		t.Errorf("without an operation id: %v after %d effects", err, effects)
	}
}

// A failed write names the operation, has no effect, and can be retried.
func TestAWriteThatFailsLeavesNoTrace(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	a, effects, full := db.User(), 0, errors.New("the store is full")
	got, err := write(db, a, "one", &effects, full)
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "test_write: ") || got != (written{}) {
		t.Errorf("a write that fails gives %+v, %v", got, err)
	}
	epoch := "select sessions_epoch from workspaces where id = $1"
	if n := db.Number("select count(*) from tool_op_log"); n != 0 || db.Number(epoch, db.A.ID) != 0 {
		t.Errorf("it left %d operations and epoch %d", n, db.Number(epoch, db.A.ID))
	}
	if _, err := write(db, a, "one", &effects, nil); err != nil || effects != 2 || db.Number(epoch, db.A.ID) != 1 {
		t.Errorf("tried again: %v after %d effects", err, effects)
	}
}

func TestOnlyAPersonMay(t *testing.T) {
	t.Parallel()
	if err := memories.RequirePerson(agent.Actor{Origin: agent.OriginUser}, "undo"); err != nil {
		t.Error(err)
	}
	for _, o := range []agent.Origin{agent.OriginAgent, agent.OriginNudge, agent.OriginReflection, ""} {
		err := memories.RequirePerson(agent.Actor{Origin: o}, "undo")
		refusal := fault.From(err)
		if refusal == nil || refusal.Code != fault.OutOfScope || refusal.Hint == "" ||
			!strings.Contains(refusal.Message, "undo") {
			t.Errorf("%q: %v", o, err)
		}
	}
}

// A review by a user clears the taint; writes of others stay tainted.
func TestAWriterIsWhoCalls(t *testing.T) {
	t.Parallel()
	a := agent.Actor{Origin: agent.OriginAgent, Tainted: true, Run: "run_7", Op: "run_7/step-1/0",
		Conversation: 3, FromSeq: 4, ToSeq: 5}
	w := memories.WriterFor(a).With(memory.Embedded{Space: 2})
	if w.Person || !w.Tainted || w.Origin != "agent" || w.Run != a.Run || w.Op != a.Op || w.Space != 2 {
		t.Errorf("the agent's writer is %+v", w)
	}
	if w.Evidence == nil || *w.Evidence != (memory.Evidence{Conversation: 3, FromSeq: 4, ToSeq: 5}) {
		t.Errorf("its evidence is %+v", w.Evidence)
	}
	a.Origin, a.Conversation = agent.OriginUser, 0
	if w = memories.WriterFor(a); !w.Person || w.Tainted || w.Evidence != nil {
		t.Errorf("a person's writer is %+v", w)
	}
}

// embedder returns vectors of one number, fails, or returns too few.
type embedder struct {
	fails error
	short int
}

func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	var out [][]float32
	for i := range texts[e.short:] {
		out = append(out, []float32{float32(i)})
	}
	return out, e.fails
}

// Missing vectors are added later: a write does not wait for the embedder.
func TestVectorsAreByTextOrLeftOut(t *testing.T) {
	t.Parallel()
	texts := []string{"tea", "milk"}
	embed := func(e embedder, texts []string) memory.Embedded {
		return memories.Embed(t.Context(), search.OneSpace{ID: 3, Embedder: e}, 1, texts)
	}
	got := embed(embedder{}, texts)
	if len(got.Vectors) != 2 || got.Vectors["tea"][0] != 0 || got.Vectors["milk"][0] != 1 || got.Space != 3 {
		t.Errorf("vectors %v", got)
	}
	for name, got := range map[string]memory.Embedded{
		"no texts":         embed(embedder{}, nil),
		"an embedder away": embed(embedder{fails: errors.New("away")}, texts),
		"too few vectors":  embed(embedder{short: 1}, texts),
	} {
		if got.Vectors != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
