package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"cairn/internal/domain/index"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// loose lists the words whose highest weight is below that of a document, or above if tight is set.
func (b *bundle) loose(tight bool) []string {
	b.t.Helper()
	return b.texts(`with weight as (
		select workspace_id, split_part(x, ':', 1)::int - 1 as term, max(split_part(x, ':', 2)::real) as w
		from lex_docs, string_to_table(substring(sv::text from '^{(.+)}'), ',') x group by 1, 2)
		select format('word %s: highest weight %s, stored %s', t.term, w.w, t.max_w)
		from lex_terms t left join weight w using (workspace_id, term)
		where t.max_w < coalesce(w.w, 0) or $1 and t.max_w <> coalesce(w.w, 0)`, tight)
}

func TestRecountCorrectsFrequenciesAndHighestWeights(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, text := range []string{"passport visa", "visa visa visa visa garden", "tomato garden"} {
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			b.index(ctx, q, int64(i), text)
			return nil
		})
		b.in(b.b, func(ctx context.Context, q store.Tx) error {
			b.index(ctx, q, int64(i), text)
			return nil
		})
	}
	// "visa" four times is the highest weight until its document changes.
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		b.index(ctx, q, 1, "garden")
		return nil
	})
	if len(b.loose(true)) == 0 {
		t.Error("no highest weight is too high before")
	}
	b.exec("update lex_terms set df = df + 3 where workspace_id = $1 and df = 1", b.a.ID)
	if n, err := b.RecountTerms(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("corrected %d words that were counted this week: %v", n, err)
	}
	b.exec("update lex_stats set counted_at = now() - interval '8 days' where workspace_id = $1", b.a.ID)
	other := b.texts("select t::text from lex_terms t where workspace_id = $1 order by 1", b.b.ID)
	n, err := b.RecountTerms(t.Context(), 10)
	testkit.Must(t, err)
	if n == 0 {
		t.Error("nothing was corrected")
	}
	b.counts()
	if wrong := b.loose(true); len(wrong) > 0 {
		t.Error(wrong)
	}
	if now := b.texts("select t::text from lex_terms t where workspace_id = $1 order by 1",
		b.b.ID); fmt.Sprint(now) != fmt.Sprint(other) {
		t.Error("the other workspace has changed")
	}
	if n, err := b.RecountTerms(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("corrected %d words again: %v", n, err)
	}
}

// Writers go on while words are counted: no change is lost, and no highest weight is too low.
func TestRecountKeepsWhatWritersChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for w := range 2 {
		go func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for ctx.Err() == nil {
				if err := b.InWorkspace(t.Context(), b.a.ID, func(ctx context.Context, q store.Tx) error {
					_, err := q.Documents().Index(ctx, index.NewDoc(index.KindSkill, int64(w*10+r.IntN(6)), "active",
						words(r)+" "+words(r)))
					return err
				}); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range 30 {
		b.exec("update lex_stats set counted_at = now() - interval '8 days'")
		_, err := b.RecountTerms(t.Context(), 10)
		testkit.Must(t, err)
	}
	stop()
	for range 2 {
		testkit.Must(t, <-ended)
	}
	b.counts()
	if wrong := b.loose(false); len(wrong) > 0 {
		t.Error(wrong)
	}
}
