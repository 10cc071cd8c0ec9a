package store

import (
	"context"
	"time"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/domain/index"
	"cairn/internal/domain/search"
	"cairn/internal/domain/settings"
	"cairn/internal/store/dbsqlc"
)

// Read calls read in one transaction on the index of a workspace. Its plans do not depend on statistics of the
// workspace, which a new one does not have.
func (s SearchIndex) Read(ctx context.Context, ws int64, read func(context.Context, index.Reader) error) error {
	return s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error { return read(ctx, indexReader{q}) })
}

// indexReader implements search.Reader.
type indexReader struct{ Tx }

// workspaceRow is the term of the row that holds the number of documents.
const workspaceRow = -1

// Statistics reads all counts in one statement.
func (r indexReader) Statistics(ctx context.Context, words []int32) (index.Statistics, error) {
	out := index.Statistics{Terms: map[int32]index.TermStatistics{}}
	rows, err := r.q.LexStatistics(ctx, dbsqlc.LexStatisticsParams{WorkspaceID: r.ws, Terms: terms(words)})
	for _, row := range rows {
		if row.Term == workspaceRow {
			out.Docs = int(row.Df)
			chosen, err := settings.Read(row.Settings)
			if err != nil {
				return out, err
			}
			out.Profile = chosen.Search
			continue
		}
		out.Terms[row.Term] = index.TermStatistics{DF: int(row.Df), Speakers: int(row.Speakers),
			MaxWeight: float64(row.MaxW)}
	}
	return out, classify("read the counts of words", err)
}

// Candidates reads the index of words.
func (r indexReader) Candidates(ctx context.Context, in index.CandidateQuery) ([]search.WordHit, error) {
	p := dbsqlc.LexCandidatesParams{WorkspaceID: r.ws, Sets: []string{}, Since: timeOrNull(in.After),
		Until: timeOrNull(in.Before), MaxRows: int32(in.Limit)}
	for _, set := range in.Sets {
		p.Sets = append(p.Sets, keysLiteral(indexKeys(r.ws, set)))
	}
	if in.Words != nil {
		sv := pgvector.NewSparseVectorFromMap(in.Words, sparseDims)
		p.Query = &sv
	}
	rows, err := r.q.LexCandidates(ctx, p)
	out := make([]search.WordHit, len(rows))
	for i, row := range rows {
		out[i] = search.WordHit{Doc: row.Doc, Score: row.Score}
	}
	return out, classify("find documents by words", err)
}

// Among compares the words of documents.
func (r indexReader) Among(ctx context.Context, docs []int64, words map[int32]float32, limit int) ([]search.WordHit,
	error) {
	if len(docs) == 0 || len(words) == 0 {
		return nil, nil
	}
	rows, err := r.q.LexAmong(ctx, dbsqlc.LexAmongParams{WorkspaceID: r.ws, Docs: docs, MaxRows: int32(limit),
		Query: pgvector.NewSparseVectorFromMap(words, sparseDims)})
	out := make([]search.WordHit, len(rows))
	for i, row := range rows {
		out[i] = search.WordHit{Doc: row.Doc, Score: row.Score}
	}
	return out, classify("find documents of a filter by words", err)
}

// Nearest compares vectors.
func (r indexReader) Nearest(ctx context.Context, in index.NearestQuery) ([]index.Neighbor, error) {
	rows, err := r.q.Nearest(ctx, dbsqlc.NearestParams{WorkspaceID: r.ws, Docs: in.Docs,
		Query: pgvector.NewHalfVector(in.Vector), Space: in.Space, MaxRows: int32(in.Limit)})
	out := make([]index.Neighbor, len(rows))
	for i, row := range rows {
		out[i] = index.Neighbor{Doc: row.Doc, Cosine: 1 - row.Distance}
	}
	return out, classify("find documents by vector", err)
}

// Documents reads what ranking needs of documents.
func (r indexReader) Documents(ctx context.Context, ids []int64) ([]search.Document, error) {
	rows, err := r.q.CandidateDocs(ctx, dbsqlc.CandidateDocsParams{WorkspaceID: r.ws, Docs: ids})
	out := make([]search.Document, len(rows))
	for i, row := range rows {
		d := search.Document{ID: row.Doc, Kind: row.Kind, Turn: row.Kind == index.KindTurn, Owner: row.OwnerID,
			Seq: int(row.Seq), Session: int(row.Session), Type: row.Type, Target: row.Target,
			TargetTerms: row.TargetTerms, Asks: row.Asks, Dated: row.Dated, Conversation: row.ConversationID,
			Utility: row.Utility, Terms: map[int32]float32{}, Rejected: !row.Wanted}
		if row.Timed {
			d.EventTime = row.EventTime
		}
		for at, term := range row.Sv.Indices() {
			d.Terms[term] = row.Sv.Values()[at]
		}
		out[i] = d
	}
	return out, classify("read the documents", err)
}

// Named finds documents by their names.
func (r indexReader) Named(ctx context.Context, n index.NameQuery) ([]int64, error) {
	docs, err := r.q.NamedDocs(ctx, dbsqlc.NamedDocsParams{WorkspaceID: r.ws, SkillName: storable(n.Skill),
		MemoryID: storable(n.Memory), TurnSeq: int32(n.Seq), TurnConversation: storable(n.Conversation)})
	return docs, classify("find documents by name", err)
}

// Results reads what is shown of documents.
func (r indexReader) Results(ctx context.Context, ids []int64) ([]index.Result, error) {
	rows, err := r.q.DocResults(ctx, dbsqlc.DocResultsParams{WorkspaceID: r.ws, Docs: ids})
	if err != nil {
		return nil, classify("read the results", err)
	}
	byID := make(map[int64]index.Result, len(rows))
	for _, row := range rows {
		byID[row.Doc] = resultOf(row)
	}
	out := make([]index.Result, len(ids))
	for i, id := range ids {
		out[i] = byID[id]
	}
	return out, nil
}

// Around finds the turns around turns.
func (r indexReader) Around(ctx context.Context, turns []int64, n int) (map[int64][]int64, error) {
	rows, err := r.q.TurnsAround(ctx, dbsqlc.TurnsAroundParams{WorkspaceID: r.ws, Docs: turns, N: int32(n)})
	out := map[int64][]int64{}
	for _, row := range rows {
		out[row.Turn] = append(out[row.Turn], row.Doc)
	}
	return out, classify("find the turns around turns", err)
}

// Conversation finds the number of a conversation.
func (r indexReader) Conversation(ctx context.Context, externalID string) (int64, error) {
	row, err := r.q.ConversationOf(
		ctx,
		dbsqlc.ConversationOfParams{WorkspaceID: r.ws, ExternalID: storable(externalID)},
	)
	if isNoRows(err) {
		return 0, nil
	}
	return row.ID, classify("find the conversation", err)
}

func resultOf(r dbsqlc.DocResultsRow) index.Result {
	out := index.Result{Kind: r.Kind, ID: r.Name, Text: r.Text, Type: r.Type, Target: r.Target,
		Conversation: r.Conversation, FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq)}
	if r.Timed {
		out.EventTime = &r.EventTime
	}
	if r.Kind == index.KindTurn {
		out.ID = index.TurnID(r.Conversation, int(r.Seq))
	}
	return out
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// sparseDims is the number of dimensions of lex_docs.sv.
const sparseDims = 1_000_000_000

// indexKeys are terms or filter keys of a workspace as lex_docs.keys holds them.
func indexKeys(ws int64, terms []int32) []int64 {
	out := make([]int64, len(terms))
	for i, t := range terms {
		out[i] = ws<<32 | int64(t)
	}
	return out
}
