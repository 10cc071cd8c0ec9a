package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/domain/index"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// Index replaces the indexed document of d's owner and returns the document's ID.
func (q DocumentRepository) Index(ctx context.Context, d index.Doc) (int64, error) {
	ids, err := q.IndexAll(ctx, []index.Doc{d})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// IndexAll is Index for documents that change together, once in a transaction. The shared counts
// are updated in one statement each, the workspace's before the terms', so that writers cannot
// deadlock. The documents have different owners. A document that is Gone is removed; its ID is 0.
func (q DocumentRepository) IndexAll(ctx context.Context, docs []index.Doc) ([]int64, error) {
	ids, moves, count := make([]int64, len(docs)), termMoves{}, int32(0)
	fresh, places := dbsqlc.DocsPutParams{WorkspaceID: q.ws}, []int(nil)
	for i, d := range docs {
		if isNew(d) {
			addDoc(&fresh, q.ws, d)
			moves.fresh(d)
			places, count = append(places, i), count+1
			continue
		}
		var by int32
		var err error
		if ids[i], by, err = q.putDoc(ctx, d, moves); err != nil {
			return nil, err
		}
		count += by
	}
	if count != 0 {
		if err := classify("count the documents",
			q.q.StatsAdd(ctx, dbsqlc.StatsAddParams{WorkspaceID: q.ws, Docs: count})); err != nil {
			return nil, err
		}
	}
	if err := q.moveTerms(ctx, moves); err != nil {
		return nil, err
	}
	for i, d := range docs {
		if d.Gone || isNew(d) {
			continue
		}
		if err := classify("index the words", q.q.LexPut(ctx, dbsqlc.LexPutParams{WorkspaceID: q.ws, Doc: ids[i],
			Keys: indexKeys(q.ws, allKeys(d)), Sv: sparse(d)})); err != nil {
			return nil, err
		}
	}
	if len(places) == 0 {
		return ids, nil
	}
	made, err := q.putNew(ctx, fresh)
	for n, id := range made {
		ids[places[n]] = id
	}
	return ids, err
}

func isNew(d index.Doc) bool { return d.New && !d.Gone }

// putDoc writes or deletes the row of a document. It adds the changes of the terms' document
// frequencies to moves; by is the change of the number of documents.
func (q DocumentRepository) putDoc(ctx context.Context, d index.Doc, moves termMoves) (id int64, by int32, err error) {
	if !d.Gone {
		fresh, err := q.q.DocOpen(ctx, dbsqlc.DocOpenParams{WorkspaceID: q.ws, Kind: d.Kind, OwnerID: d.Owner,
			Seq: int32(d.Seq), Status: d.Status})
		if err != nil {
			return 0, 0, classify("open the indexed document", err)
		}
		by = int32(fresh)
	}
	old, err := q.q.DocGet(ctx, dbsqlc.DocGetParams{WorkspaceID: q.ws, Kind: d.Kind, OwnerID: d.Owner,
		Seq: int32(d.Seq)})
	if d.Gone && isNoRows(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, classify("read the indexed document", err)
	}
	keys, err := q.q.LexKeys(ctx, dbsqlc.LexKeysParams{WorkspaceID: q.ws, Doc: old.Doc})
	if err != nil {
		return 0, 0, classify("read the indexed words", err)
	}
	before, now := termsOf(keys), allKeys(d)
	if d.Gone {
		now = nil
	}
	moves.documents(difference(before, now), -1)
	moves.documents(difference(now, before), 1)
	moves.weights(d)
	if d.Kind == index.KindTurn {
		moves.speakers(old.TargetTerms, -1)
		moves.speakers(d.TargetTerms, 1)
	}
	if d.Gone {
		if err := q.q.DocDrop(ctx, dbsqlc.DocDropParams{WorkspaceID: q.ws, Doc: old.Doc}); err != nil {
			return 0, 0, classify("drop the indexed document", err)
		}
		// no text is left to embed
		return 0, -1, q.transaction().Outbox().Settle(ctx, outbox.EmbedDoc, fmt.Sprint(old.Doc))
	}
	err = classify("index the document", q.q.DocPut(ctx,
		dbsqlc.DocPutParams{Status: d.Status, Text: storable(d.Text), Type: d.Type,
			Target: storable(d.Target), TargetTerms: terms(d.TargetTerms),
			Asks: d.Asks, Dated: d.Dated, ConversationID: d.Conversation, EventTime: d.EventTime, WorkspaceID: q.ws,
			Doc: old.Doc}))
	return old.Doc, by, err
}

// termMoves maps each term to its changes.
type termMoves map[int32]termMove

type termMove struct {
	documents, speakers int32   // changes of the numbers of documents, and of turns of a speaker with that name
	weight              float32 // highest weight in a document
}

// fresh counts a new document.
func (m termMoves) fresh(d index.Doc) {
	m.documents(allKeys(d), 1)
	m.weights(d)
	if d.Kind == index.KindTurn {
		m.speakers(d.TargetTerms, 1)
	}
}

// weights raises the highest weights of the terms of d.
func (m termMoves) weights(d index.Doc) {
	if d.Gone {
		return
	}
	for i, t := range d.Terms {
		n := m[t]
		n.weight = max(n.weight, d.Weights[i])
		m[t] = n
	}
}

func (m termMoves) documents(terms []int32, by int32) {
	for _, t := range terms {
		n := m[t]
		n.documents += by
		m[t] = n
	}
}

func (m termMoves) speakers(terms []int32, by int32) {
	for _, t := range terms {
		n := m[t]
		n.speakers += by
		m[t] = n
	}
}

// moveTerms updates the document frequencies.
func (q DocumentRepository) moveTerms(ctx context.Context, moves termMoves) error {
	p := dbsqlc.TermsMoveParams{WorkspaceID: q.ws}
	for term, by := range moves {
		if by != (termMove{}) {
			p.Terms, p.Moves, p.Names, p.Weights = append(p.Terms, term), append(p.Moves, by.documents),
				append(p.Names, by.speakers), append(p.Weights, by.weight)
		}
	}
	if len(p.Terms) == 0 {
		return nil
	}
	return classify("count the terms", q.q.TermsMove(ctx, p))
}

// indexWithVectors indexes documents for search. For a text without a vector (nil in vectors) it
// enqueues an outbox task to embed it.
func (q DocumentRepository) indexWithVectors(ctx context.Context, docs []index.Doc, vectors [][]float32,
	space int16) error {
	ids, err := q.IndexAll(ctx, docs)
	if err != nil {
		return err
	}
	var pending, have []int64
	var given [][]float32
	for i, doc := range ids {
		switch {
		case docs[i].Gone:
		case len(vectors[i]) > 0:
			have, given = append(have, doc), append(given, vectors[i])
		default:
			if pending = append(pending, doc); !docs[i].New {
				if err := q.DropEmbedding(ctx, doc, space); err != nil {
					return err
				}
			}
		}
	}
	if len(have) > 0 {
		if err := q.PutEmbeddings(ctx, have, space, given); err != nil {
			return err
		}
		if err := q.oweSpaces(ctx, space, have); err != nil {
			return err
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return classify("enqueue the embedding of documents",
		q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: pending}))
}

// PutEmbedding stores a document's vector.
func (q DocumentRepository) PutEmbedding(ctx context.Context, doc int64, space int16, v []float32) error {
	return classify("store the vector", q.q.EmbeddingPut(ctx,
		dbsqlc.EmbeddingPutParams{WorkspaceID: q.ws, Doc: doc, Space: space, V: pgvector.NewHalfVector(v)}))
}

// DropEmbedding removes a vector whose text has changed.
func (q DocumentRepository) DropEmbedding(ctx context.Context, doc int64, space int16) error {
	return classify("drop the vector", q.q.EmbeddingDrop(ctx,
		dbsqlc.EmbeddingDropParams{WorkspaceID: q.ws, Doc: doc, Space: space}))
}

// noSpace is not the ID of any embedding space: a query without a vector finds no vectors.
const noSpace = -1

// Search ranks the workspace's documents.
func (q DocumentRepository) Search(ctx context.Context, in index.Query) ([]index.Hit, error) {
	vector, space := vectorOf(in)
	rows, err := q.q.SearchRanked(ctx, dbsqlc.SearchRankedParams{WorkspaceID: q.ws, MaxRows: int32(in.Limit),
		Terms: terms(in.Terms), Kind: in.Kind, States: in.States, Space: space, Query: vector})
	if err != nil {
		return nil, classify("search", err)
	}
	out := make([]index.Hit, len(rows))
	for i, r := range rows {
		out[i] = index.Hit{Doc: r.Doc, Owner: r.OwnerID, Score: r.Score, Lexical: r.Lexical, Hits: int(r.Hits),
			Terms: int(r.Terms), Cosine: r.Cosine}
	}
	return out, nil
}

// vectorOf returns a query's vector and space, or a zero vector and noSpace.
func vectorOf(in index.Query) (pgvector.HalfVector, int16) {
	if len(in.Vector) == 0 {
		return pgvector.NewHalfVector([]float32{1}), noSpace
	}
	return pgvector.NewHalfVector(in.Vector), in.Space
}

// difference returns the members of a that are not in b. Both are ascending.
func difference(a, b []int32) []int32 {
	var out []int32
	for _, t := range a {
		if _, found := slices.BinarySearch(b, t); !found {
			out = append(out, t)
		}
	}
	return out
}

// terms turns nil into an empty array, which SQL can store.
func terms(t []int32) []int32 {
	if t == nil {
		return []int32{}
	}
	return t
}

// SearchIndex implements the index of the service search.
type SearchIndex struct{ *Store }

// SearchIndex returns the index of the service search.
func (s *Store) SearchIndex() SearchIndex { return SearchIndex{s} }

// FindSkills ranks and reads skills in one statement.
func (s SearchIndex) FindSkills(ctx context.Context, ws int64, in index.Query, name string) (out []index.SkillHit,
	err error) {
	vector, space := vectorOf(in)
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.SearchSkills(ctx, dbsqlc.SearchSkillsParams{Name: name, WorkspaceID: q.ws, States: in.States,
			Terms: terms(in.Terms), Query: vector, Space: space, MaxRows: int32(in.Limit)})
		for _, r := range rows {
			out = append(out, index.SkillHit{Named: r.Named,
				Hit: index.Hit{Doc: r.Doc, Owner: r.ID, Score: r.Score, Lexical: r.Lexical, Hits: int(r.Hits),
					Terms: int(r.Terms), Cosine: r.Cosine},
				Head: skill.Head{
					ID:          r.ID,
					Name:        r.Name,
					Category:    r.Category,
					Status:      skill.Status(r.Status),
					Version:     int(r.HeadVersion),
					Pinned:      r.Pinned,
					Managed:     r.Managed,
					Tainted:     r.Tainted,
					Origin:      r.Origin,
					Description: r.Description,
					Lang:        r.Lang,
					Degraded:    r.Degraded,
					PackageKey:  r.PackageKey,
					Eta:         r.Eta,
					Uses:        r.Uses,
					Impressions: r.Impressions,
					CreatedAt:   r.CreatedAt,
					UpdatedAt:   r.UpdatedAt,
				}})
		}
		return classify("search the skills", err)
	})
	return out, err
}

// allKeys are the terms and the filter keys of a document, ascending.
func allKeys(d index.Doc) []int32 { return slices.Concat(d.Terms, d.Keys()) }

// termsOf are the terms and filter keys in lex_docs.keys.
func termsOf(keys []int64) []int32 {
	out := make([]int32, len(keys))
	for i, k := range keys {
		out[i] = int32(k & math.MaxUint32)
	}
	return out
}

// sparse is the vector of a document's words.
func sparse(d index.Doc) pgvector.SparseVector {
	weights := make(map[int32]float32, len(d.Terms))
	for i, t := range d.Terms {
		weights[t] = d.Weights[i]
	}
	return pgvector.NewSparseVectorFromMap(weights, sparseDims)
}
