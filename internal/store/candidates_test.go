package store_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// lex_candidates reads past row-level security, so it must refuse every workspace
// and every key but those of the transaction.
func TestTheIndexOfWordsRefusesOtherWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.b, func(ctx context.Context, q store.Tx) error {
		b.index(ctx, q, 1, "marzipan")
		return nil
	})
	app := b.as("cairn_app")
	app.do("select set_config('cairn.workspace', $1::bigint::text, false)", b.a.ID)
	key := func(ws int64) string { return fmt.Sprintf("{%d}", ws<<32|int64(lexical.Hash("marzipan"))) }
	call := "select count(*) from cairn.lex_candidates($1, array[$2], null, null, null, 10)"
	if n := app.number(call, b.a.ID, key(b.a.ID)); n != 0 {
		t.Errorf("found %d documents", n)
	}
	app.refuses("CA006", call, b.b.ID, key(b.b.ID))
	app.refuses("CA006", call, b.a.ID, key(b.b.ID))
}

// Of many rows that share their words, the one that holds all words of a query
// comes first, however frequent each word is.
func TestARowWithAllWordsComesFirst(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	const rows = 20_000
	text := corpus.Synthetic(1).Text
	for at := 0; at < rows; at += 1000 {
		docs := make([]index.Doc, 1000)
		for i := range docs {
			docs[i] = index.NewDoc(index.KindMemory, int64(at+i+1), "active", text(at+i))
			docs[i].Type = "personal"
		}
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			_, err := q.Documents().IndexNew(ctx, docs)
			return err
		})
	}
	b.exec("analyze search_docs")
	b.exec("analyze lex_docs")
	finder := search.Finder{Index: b.SearchIndex(), Embedder: silent{}}
	for n := 7; n < rows; n += rows / 60 {
		found, err := finder.Find(t.Context(), b.a.ID, search.Request{Query: text(n)})
		testkit.Must(t, err)
		if len(found) == 0 || found[0].Text != text(n) {
			t.Errorf("row %d is not first for its own text: %+v", n, found)
		}
	}
}

// silent is an embedder that returns no vectors.
type silent struct{}

func (silent) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }
