package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/outbox"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// remember writes a memory with a vector in a space.
func (b *bundle) remember(content string, space int16, vector []float32) {
	b.t.Helper()
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		w := memories.WriterFor(agent.Actor{Origin: agent.OriginUser, Op: "op-" + content}).With(
			memory.Embedded{Vectors: map[string][]float32{content: vector}, Space: space})
		return q.PromptMemory().WriteMemories(ctx,
			memory.Plan{Steps: []memory.Step{{Action: memory.Add, Entry: &memory.Entry{Type: memory.Core},
				Content: content}}}, w)
	})
}

func (b *bundle) activeSpace() int {
	b.t.Helper()
	return b.number("select coalesce(space_id, 0) from workspaces where id = $1", b.a.ID)
}

// A document whose vector is of another space than the workspace uses owes that one, too.
func TestAVectorOfAnotherSpaceOwesThatOfTheWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Space(t.Context(), "first", 2)
	testkit.Must(t, err)
	second, err := b.Space(t.Context(), "second", 3)
	testkit.Must(t, err)
	pending := func() int { return b.number("select count(*) from outbox where kind = $1", outbox.EmbedDoc) }
	b.remember("a", first, []float32{1, 0})
	if got := b.activeSpace(); got != int(first) || pending() != 0 {
		t.Fatalf("the first vector chose space %d, %d documents owe one", got, pending())
	}
	b.remember("b", second, []float32{1, 0, 0})
	if got := b.activeSpace(); got != int(first) || pending() != 1 {
		t.Errorf("space %d, %d documents owe a vector, want %d and 1", got, pending(), first)
	}
	b.exec("insert into reembed_progress (workspace_id, space, total) values ($1, $2, 1)", b.a.ID, second)
	b.remember("c", first, []float32{1, 0})
	if pending() != 2 {
		t.Errorf("%d documents owe a vector, want 2: a re-embedding runs", pending())
	}
	b.exec("update reembed_progress set state = 'completed'")
	b.remember("d", first, []float32{1, 0})
	if pending() != 2 {
		t.Errorf("%d documents owe a vector, want 2: no re-embedding runs", pending())
	}
}

// The vector of the old space does not settle the task if the space changes while it is computed.
func TestATaskStaysIfTheSpaceChangesMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Space(t.Context(), "first", 2)
	testkit.Must(t, err)
	second, err := b.Space(t.Context(), "second", 3)
	testkit.Must(t, err)
	b.remember("a", first, []float32{1, 0})
	b.exec("update workspaces set space_id = $1 where id = $2", second, b.a.ID)
	doc := int64(b.number("select doc from search_docs"))
	put := func(vectors map[int16][]float32) error {
		return b.InWorkspace(t.Context(), b.a.ID, func(ctx context.Context, q store.Tx) error {
			return q.Documents().PutVectors(ctx, doc, vectors, first)
		})
	}
	if err := put(map[int16][]float32{first: {0, 1}}); err == nil {
		t.Error("settled without the vector of the new space")
	}
	testkit.Must(t, put(map[int16][]float32{first: {0, 1}, second: {0, 1, 0}}))
}

func TestSpacesThatNobodyUsesAreRetired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var spaces []int16
	for i := range 5 {
		s, err := b.Space(t.Context(), fmt.Sprint("m", i), 2)
		testkit.Must(t, err)
		spaces = append(spaces, s)
	}
	configured, active, previous, past, fresh := spaces[0], spaces[1], spaces[2], spaces[3], spaces[4]
	b.remember("a", active, []float32{1, 0})
	doc := b.number("select doc from search_docs")
	b.exec("insert into embeddings (workspace_id, doc, space, v) values ($1, $2, $3, '[1,0]')", b.a.ID, doc, past)
	b.exec("update workspaces set previous_space_id = $1, previous_until = now() + interval '1 hour' where id = $2",
		previous, b.a.ID)
	b.exec("update workspaces set previous_space_id = $1, previous_until = now() - interval '1 hour' where id = $2",
		past, b.b.ID)
	b.exec("update embedding_spaces set opened_at = now() - interval '8 days' where id <> $1", fresh)
	got, err := b.RetireSpaces(t.Context(), b.url, []int16{configured})
	testkit.Must(t, err)
	if !slices.Equal(got, []int16{past}) {
		t.Errorf("retired %v, want %d", got, past)
	}
	if n := b.number("select count(*) from embeddings"); n != 1 {
		t.Errorf("%d vectors left, want 1", n)
	}
	again, err := b.Space(t.Context(), "m3", 2) // its model is configured again
	testkit.Must(t, err)
	if again != past {
		t.Errorf("space %d was opened again as %d", past, again)
	}
	b.exec("insert into embeddings (workspace_id, doc, space, v) values ($1, $2, $3, '[1,0]')", b.a.ID, doc, past)
}
