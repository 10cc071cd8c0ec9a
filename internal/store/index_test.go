package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/access"
	domainindex "cairn/internal/domain/index"
	"cairn/internal/store"
)

// counts compares the index with a recount of its documents.
func (b *bundle) counts() {
	b.t.Helper()
	for _, wrong := range b.texts(`
with real as (select workspace_id, (t.key & 4294967295)::int as term, count(*) as df
   from lex_docs, unnest(keys) as t(key) group by 1, 2),
 kept as (select workspace_id, term, df from lex_terms where df <> 0),
 docs as (select workspace_id, count(*) as docs from search_docs group by 1)
select format('workspace %s term %s: documents %s, frequency %s', workspace_id, term, real.df, kept.df)
  from real full join kept using (workspace_id, term) where real.df is distinct from kept.df
union all
select format('workspace %s: document %s has no words', workspace_id, doc)
  from search_docs left join lex_docs using (workspace_id, doc) where lex_docs.doc is null
union all
select format('workspace %s: %s documents, counted %s', workspace_id, docs.docs, lex_stats.docs)
  from docs full join lex_stats using (workspace_id) where docs.docs is distinct from lex_stats.docs`) {
		b.t.Error(wrong)
	}
}

var vocabulary = strings.Fields("deploy rollback health probe replica release incident invoice refund passport visa " +
	"garden tomato compost")

// words are some of the vocabulary, in no order.
func words(r *rand.Rand) string {
	var out []string
	for range r.IntN(6) {
		out = append(out, vocabulary[r.IntN(len(vocabulary))])
	}
	return strings.Join(out, " ")
}

func TestDocumentFrequenciesEqualARecount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 60 {
		ws := []access.Workspace{b.a, b.b}[r.IntN(2)]
		b.in(ws, func(ctx context.Context, q store.Tx) error {
			b.index(ctx, q, int64(r.IntN(8)), words(r))
			return nil
		})
	}
	b.counts()
	if n := b.number("select count(*) from lex_terms where df > 1"); n == 0 {
		t.Error("no term is in two documents: the test says nothing")
	}
}

func TestConcurrentIndexingKeepsTheCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *store.Options) { o.MaxConns = 8 })
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var wait sync.WaitGroup
	for i := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wait.Go(func() {
			for range 15 {
				err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
					_, err := q.Documents().Index(t.Context(),
						domainindex.NewDoc(domainindex.KindSkill, int64(r.IntN(6)), "active", words(r)))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.counts()
}

// Two documents swap their words repeatedly: each writer decreases the terms that the other
// increases.
func TestIndexingInOppositeDirectionsDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	left, right := strings.Join(vocabulary[:7], " "), strings.Join(vocabulary[7:], " ")
	var wait sync.WaitGroup
	for owner := range int64(2) {
		wait.Go(func() {
			for round := range 40 {
				text := left
				if (int64(round)+owner)%2 == 1 {
					text = right
				}
				err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
					_, err := q.Documents().Index(t.Context(), domainindex.NewDoc(domainindex.KindSkill, owner,
						"active", text))
					return err
				})
				if err != nil {
					t.Error(fmt.Errorf("owner %d round %d: %w", owner, round, err))
					return
				}
			}
		})
	}
	wait.Wait()
	b.counts()
}

// A batch of memories updates one list of terms while skills update another. Document by document,
// the rows would be locked in crossing orders.
func TestABatchOfDocumentsDoesNotDeadlockWithSingleOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	left, right := strings.Join(vocabulary[:7], " "), strings.Join(vocabulary[7:], " ")
	const rounds = 40
	var wait sync.WaitGroup
	index := func(what string, docs func(round int) []domainindex.Doc) {
		wait.Go(func() {
			for round := range rounds {
				err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
					_, err := q.Documents().IndexAll(t.Context(), docs(round))
					return err
				})
				if err != nil {
					t.Error(fmt.Errorf("%s, round %d: %w", what, round, err))
					return
				}
			}
		})
	}
	index("batch", func(round int) []domainindex.Doc {
		texts := []string{left, right, left + " " + right}
		var docs []domainindex.Doc
		for i := range texts {
			d := domainindex.NewDoc(domainindex.KindMemory, int64(i), "active", texts[(i+round)%len(texts)])
			if round%5 == 4 && i == 1 {
				d = domainindex.Doc{Kind: domainindex.KindMemory, Owner: 1, Gone: true}
			}
			docs = append(docs, d)
		}
		fresh := domainindex.NewDoc(domainindex.KindMemory, int64(100+round), "active", right+" "+left)
		fresh.New = true
		return append(docs, fresh)
	})
	for owner, text := range []string{left, right, right + " " + left} {
		index(text, func(round int) []domainindex.Doc {
			now := text
			if round%2 == 1 {
				now = vocabulary[round%len(vocabulary)]
			}
			return []domainindex.Doc{domainindex.NewDoc(domainindex.KindSkill, int64(owner), "active", now)}
		})
	}
	wait.Wait()
	b.counts()
}
