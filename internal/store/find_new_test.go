package store_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/internal/domain/access"
	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// counted is an index that counts the rows that a search reads.
type counted struct {
	domainindex.Index
	rows int64
}

func (c *counted) Read(ctx context.Context, ws int64, read func(context.Context, domainindex.Reader) error) error {
	return c.Index.Read(ctx, ws, func(ctx context.Context, r domainindex.Reader) error {
		before, err := store.RowsRead(ctx, r)
		if err != nil {
			return err
		}
		if err := read(ctx, r); err != nil {
			return err
		}
		after, err := store.RowsRead(ctx, r)
		c.rows = after - before
		return err
	})
}

// Statistics of the tables know only the workspaces that were there when they were collected.
func TestASearchInANewWorkspaceReadsOnlyItsSubject(t *testing.T) {
	t.Parallel()
	const targets, each = 60, 10
	k := openTalk(t)
	fill := func(ws access.Workspace) {
		k.in(ws, func(ctx context.Context, q store.Tx) error {
			var steps []memory.Step
			for i := range targets * each {
				steps = append(steps, memory.Step{Action: memory.Add,
					Entry:   &memory.Entry{Type: "personal", Target: fmt.Sprint("person", i%targets)},
					Content: fmt.Sprintf("Likes the walk number %d near lake %d", i, i%7)})
			}
			return q.PromptMemory().WriteMemories(ctx, memory.Plan{Steps: steps},
				memory.Writer{Origin: "user", Op: "op-fill", Space: k.finder.Space})
		})
	}
	fill(k.a)
	k.exec("analyze cairn.memories, cairn.search_docs, cairn.lex_docs, cairn.embeddings")
	fill(k.b)
	index := &counted{Index: k.SearchIndex()}
	k.finder.Index = index
	user := memory.Condition{Field: memory.FieldUser, How: memory.Equal, Values: []memory.Value{{Text: "person3"}}}
	for name, r := range map[string]search.Request{
		"target": {Query: "walk 63", Targets: []string{"person3"}, Kinds: []string{domainindex.KindMemory}},
		"user": {Query: "walk 63", Targets: []string{"person3"}, Kinds: []string{domainindex.KindMemory},
			Types: []memory.Type{"personal", "procedural"}, Where: &user},
	} {
		found, err := k.finder.Find(t.Context(), k.b.ID, r)
		testkit.Must(t, err)
		if len(found) == 0 || found[0].Text != "Likes the walk number 63 near lake 0" {
			t.Errorf("%s: %+v", name, found)
		}
		if index.rows == 0 || index.rows > targets*each/2 {
			t.Errorf("%s: %d rows are read, of %d in the workspace", name, index.rows, targets*each)
		}
		t.Logf("%s: %d rows", name, index.rows)
	}
}
