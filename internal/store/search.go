package store

import (
	"context"
	"slices"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/search"
	"cairn/internal/skill"
	"cairn/internal/store/dbsqlc"
)

// Index puts d in place of what was indexed for the same owner, and returns the
// document's id.
func (q Queries) Index(ctx context.Context, d search.Doc) (int64, error) {
	fresh, err := q.q.DocOpen(ctx, dbsqlc.DocOpenParams{WorkspaceID: q.ws, Kind: d.Kind, OwnerID: d.Owner, Status: d.Status})
	if err != nil {
		return 0, classify("open the indexed document", err)
	}
	old, err := q.q.DocGet(ctx, dbsqlc.DocGetParams{WorkspaceID: q.ws, Kind: d.Kind, OwnerID: d.Owner})
	if err != nil {
		return 0, classify("read the indexed document", err)
	}
	err = q.q.DocPut(ctx, dbsqlc.DocPutParams{Status: d.Status, Text: storable(d.Text), Terms: terms(d.Terms), WorkspaceID: q.ws, Doc: old.Doc})
	if err != nil {
		return 0, classify("index the document", err)
	}
	if fresh == 1 {
		if err := q.q.StatsAdd(ctx, dbsqlc.StatsAddParams{WorkspaceID: q.ws, Docs: 1}); err != nil {
			return 0, classify("count the document", err)
		}
	}
	if err := q.moveTerms(ctx, old.Doc, difference(old.Terms, d.Terms), difference(d.Terms, old.Terms)); err != nil {
		return 0, err
	}
	err = q.q.PostingsPut(ctx, dbsqlc.PostingsPutParams{WorkspaceID: q.ws, Terms: terms(d.Terms), Doc: old.Doc, Weights: d.Weights})
	return old.Doc, classify("write the postings", err)
}

// moveTerms keeps document frequencies right.
func (q Queries) moveTerms(ctx context.Context, doc int64, gone, added []int32) error {
	if len(gone) > 0 {
		if err := q.q.PostingsDrop(ctx, dbsqlc.PostingsDropParams{WorkspaceID: q.ws, Doc: doc, Terms: gone}); err != nil {
			return classify("drop the postings", err)
		}
	}
	p := dbsqlc.TermsMoveParams{WorkspaceID: q.ws, Terms: slices.Concat(gone, added)}
	if len(p.Terms) == 0 {
		return nil
	}
	for i := range p.Terms {
		by := int32(1)
		if i < len(gone) {
			by = -1
		}
		p.Moves = append(p.Moves, by)
	}
	return classify("count the terms", q.q.TermsMove(ctx, p))
}

// PutEmbedding stores a document's vector.
func (q Queries) PutEmbedding(ctx context.Context, doc int64, space int16, v []float32) error {
	return classify("store the vector", q.q.EmbeddingPut(ctx, dbsqlc.EmbeddingPutParams{WorkspaceID: q.ws, Doc: doc, Space: space, V: pgvector.NewHalfVector(v)}))
}

// DropEmbedding removes a vector whose text has changed.
func (q Queries) DropEmbedding(ctx context.Context, doc int64, space int16) error {
	return classify("drop the vector", q.q.EmbeddingDrop(ctx, dbsqlc.EmbeddingDropParams{WorkspaceID: q.ws, Doc: doc, Space: space}))
}

// DocText is what is embedded for a document.
func (q Queries) DocText(ctx context.Context, doc int64) (string, error) {
	text, err := q.q.DocText(ctx, dbsqlc.DocTextParams{WorkspaceID: q.ws, Doc: doc})
	return text, classify("read the document's text", err)
}

// noSpace is the id of no embedding space: a query without a vector finds no vectors.
const noSpace = -1

// Search ranks the workspace's documents.
func (q Queries) Search(ctx context.Context, in search.Query) ([]search.Hit, error) {
	vector, space := vectorOf(in)
	rows, err := q.q.SearchRanked(ctx, dbsqlc.SearchRankedParams{WorkspaceID: q.ws, MaxRows: int32(in.Limit), Terms: terms(in.Terms), Kind: in.Kind, States: in.States, Space: space, Query: vector})
	if err != nil {
		return nil, classify("search", err)
	}
	out := make([]search.Hit, len(rows))
	for i, r := range rows {
		out[i] = search.Hit{Doc: r.Doc, Owner: r.OwnerID, Score: r.Score, Lexical: r.Lexical, Hits: int(r.Hits), Terms: int(r.Terms), Cosine: r.Cosine}
	}
	return out, nil
}

// vectorOf is a query's vector and space, those of no space when it has none.
func vectorOf(in search.Query) (pgvector.HalfVector, int16) {
	if len(in.Vector) == 0 {
		return pgvector.NewHalfVector([]float32{1}), noSpace
	}
	return pgvector.NewHalfVector(in.Vector), in.Space
}

// difference is the members of a that b lacks; both are ascending.
func difference(a, b []int32) []int32 {
	var out []int32
	for _, t := range a {
		if _, found := slices.BinarySearch(b, t); !found {
			out = append(out, t)
		}
	}
	return out
}

// terms turns nil into an empty array, which SQL can hold.
func terms(t []int32) []int32 {
	if t == nil {
		return []int32{}
	}
	return t
}

// searchIndex is the store as the use-case search sees it.
type searchIndex struct{ *Store }

// SearchIndex is the store for the use-case search.
func (s *Store) SearchIndex() search.Index { return searchIndex{s} }

// FindSkills ranks and reads in one statement.
func (s searchIndex) FindSkills(ctx context.Context, ws int64, in search.Query, name string) (out []search.SkillHit, err error) {
	vector, space := vectorOf(in)
	err = s.WithWorkspace(ctx, ws, func(q Queries) error {
		rows, err := q.q.SearchSkills(ctx, dbsqlc.SearchSkillsParams{Name: name, WorkspaceID: q.ws, States: in.States, Terms: terms(in.Terms), Query: vector, Space: space, MaxRows: int32(in.Limit)})
		for _, r := range rows {
			out = append(out, search.SkillHit{Named: r.Named,
				Hit: search.Hit{Doc: r.Doc, Owner: r.ID, Score: r.Score, Lexical: r.Lexical, Hits: int(r.Hits), Terms: int(r.Terms), Cosine: r.Cosine},
				Head: skill.Head{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status), Version: int(r.HeadVersion), Pinned: r.Pinned, Managed: r.Managed, Tainted: r.Tainted, Origin: r.Origin,
					Description: r.Description, Category: deref(r.Category),
					Lang: r.Lang, Degraded: r.Degraded, PackageKey: r.PackageKey, Eta: r.Eta, Uses: r.Uses, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}})
		}
		return classify("search the skills", err)
	})
	return out, err
}
