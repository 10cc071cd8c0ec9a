package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	pgvector "github.com/pgvector/pgvector-go"

	"cairn/internal/search"
	"cairn/internal/store/dbsqlc"
	"cairn/internal/transcript"
)

// turnVectors is how what is said gets its vectors.
type turnVectors struct {
	space  int16
	inline search.Embedder
}

// EmbedTurns has what is said from now on embedded into space: in the
// transaction that stores it when inline, which costs no call to anybody, is
// given, else by a duty of the outbox. A store that was not told leaves turns to
// be found by their words. Call it before the store is used.
func (s *Store) EmbedTurns(space int16, inline search.Embedder) {
	s.vectors = &turnVectors{space: space, inline: inline}
}

// SittingGap parts the sittings of a conversation: as long as it takes for a
// conversation to count as idle.
const SittingGap = 30 * time.Minute

// indexedRunes is how much of a message is indexed: what was pasted in beyond it
// would drown what was said.
const indexedRunes = 4000

// indexTurns makes what users and assistants said findable. Tools' results and
// system messages are not what anybody said. live messages without a time are
// said now.
func (q Queries) indexTurns(ctx context.Context, conversation int64, seq int, ms []transcript.Message, live bool) error {
	last, err := q.q.LastSitting(ctx, dbsqlc.LastSittingParams{WorkspaceID: q.ws, ConversationID: conversation, Seq: int32(seq)})
	if err != nil {
		return classify("read the last sitting", err)
	}
	p := dbsqlc.TurnDocsPutParams{WorkspaceID: q.ws, ConversationID: conversation}
	moves, session, before := termMoves{}, int(last.Session), last.EventTime
	for i, m := range ms {
		text := transcript.Clip(strings.TrimSpace(storable(m.Content)), indexedRunes)
		if text == "" || m.Role != transcript.User && m.Role != transcript.Assistant {
			continue
		}
		at := m.Time
		if at.IsZero() && live {
			at = last.Now
		}
		if session < 0 || before != nil && !at.IsZero() && at.Sub(*before) > SittingGap {
			session = seq + i
		}
		if !at.IsZero() {
			before = &at
		}
		d := search.NewDoc(search.KindTurn, conversation, "active", text).About(storable(m.Name))
		addTurn(&p, d, seq+i, session, at)
		moves.documents(d.Terms, 1)
		moves.speakers(d.TargetTerms, 1)
	}
	if len(p.Seqs) == 0 {
		return nil
	}
	return q.putTurnDocs(ctx, p, moves)
}

func addTurn(p *dbsqlc.TurnDocsPutParams, d search.Doc, seq, session int, at time.Time) {
	when := "" // null
	if !at.IsZero() {
		when = at.Format(time.RFC3339Nano)
	}
	p.Seqs, p.Sessions, p.Texts, p.EventTimes = append(p.Seqs, int32(seq)), append(p.Sessions, int32(session)), append(p.Texts, d.Text), append(p.EventTimes, when)
	p.Asks, p.Dated = append(p.Asks, d.Asks), append(p.Dated, d.Dated)
	p.Speakers, p.SpeakerTerms = append(p.Speakers, d.Target), append(p.SpeakerTerms, arrayLiteral(d.TargetTerms))
	for i, t := range d.Terms {
		p.At, p.Terms, p.Weights = append(p.At, int32(seq)), append(p.Terms, t), append(p.Weights, d.Weights[i])
	}
}

// putTurnDocs moves the counts that writers share first, the workspace's before
// the terms', as IndexAll does.
func (q Queries) putTurnDocs(ctx context.Context, p dbsqlc.TurnDocsPutParams, moves termMoves) error {
	if err := q.q.StatsAdd(ctx, dbsqlc.StatsAddParams{WorkspaceID: q.ws, Docs: int32(len(p.Seqs))}); err != nil {
		return classify("count the documents", err)
	}
	if err := q.moveTerms(ctx, moves); err != nil {
		return err
	}
	made, err := q.q.TurnDocsPut(ctx, p)
	if err != nil || q.vectors == nil {
		return classify("index the turns", err)
	}
	docs := make([]int64, len(made))
	for i, r := range made {
		docs[i] = r.Doc
	}
	if q.vectors.inline == nil {
		return classify("owe the turns their vectors", q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: docs}))
	}
	vectors, err := q.vectors.inline.Embed(ctx, p.Texts) // in the order of seq, as made is
	if err != nil {
		return fmt.Errorf("embed the turns: %w", err)
	}
	halves := make([]pgvector.HalfVector, len(vectors))
	for i, v := range vectors {
		halves[i] = pgvector.NewHalfVector(v)
	}
	return classify("store the turns' vectors", q.q.EmbeddingsPut(ctx, dbsqlc.EmbeddingsPutParams{WorkspaceID: q.ws, Space: q.vectors.space, Docs: docs, Vectors: halves}))
}

// arrayLiteral writes an array inside of an array: those of SQL are rectangular.
func arrayLiteral(terms []int32) string {
	return "{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(terms), " ", ","), "[]") + "}"
}
