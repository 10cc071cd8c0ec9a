package postgres

import (
	"context"
	"strings"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/search"
)

// turnVectors is how what is said gets its vectors.
type turnVectors struct {
	space  int16
	inline func(texts []string) [][]float32
}

// EmbedTurns has what is said from now on embedded into space: in the
// transaction that stores it when inline, which only computes, is given, else by a duty of the outbox. A store that
// was not told leaves turns to be found by their words. Call it before the store is used.
func (s *Store) EmbedTurns(space int16, inline func(texts []string) [][]float32) {
	s.vectors = &turnVectors{space: space, inline: inline}
}

// SittingGap parts the sittings of a conversation: as long as it takes for a
// conversation to count as idle.
const SittingGap = 30 * time.Minute

// indexedRunes is how much of a message is indexed: what was pasted in beyond it
// would drown what was said.
const indexedRunes = 4000

// lastSitting reads where a conversation stood before a message.
func (q documentRepository) lastSitting(ctx context.Context, conversationID int64, seq int) (agentrun.ActivityWindow,
	error) {
	r, err := q.q.LastSitting(ctx, dbsqlc.LastSittingParams{WorkspaceID: q.ws, ConversationID: conversationID,
		Before: int32(seq)})
	return agentrun.ActivityWindow(r), classify("read the last sitting", err)
}

// IndexSaid makes live messages of a conversation findable, each by its Seq. Those
// without a time are said now.
func (q documentRepository) IndexSaid(ctx context.Context, c agentrun.Conversation,
	ms []transcript.Message) (err error) {
	if c.Last.Now.IsZero() {
		if c.Last, err = q.lastSitting(ctx, c.ID, c.NextSeq); err != nil {
			return err
		}
	}
	return q.indexTurns(ctx, c.ID, ms, c.Last, true)
}

// indexTurns makes what users and assistants said after a sitting findable. Tools'
// results and system messages are not what anybody said. live messages without a
// time are said now.
func (q documentRepository) indexTurns(ctx context.Context, conversationID int64, ms []transcript.Message,
	last agentrun.ActivityWindow, live bool) error {
	session, before, docs := int(last.Session), last.EventTime, []search.Doc{}
	for _, m := range ms {
		text := transcript.Clip(strings.TrimSpace(storable(m.Content)), indexedRunes)
		if text == "" || m.Role != transcript.User && m.Role != transcript.Assistant {
			continue
		}
		at := m.Time
		if at.IsZero() && live {
			at = last.Now
		}
		if session < 0 || before != nil && !at.IsZero() && at.Sub(*before) > SittingGap {
			session = m.Seq
		}
		if !at.IsZero() {
			before = &at
		}
		d := search.NewDoc(search.KindTurn, conversationID, "active", text).About(storable(m.Name))
		d.Seq, d.Session, d.Conversation = m.Seq, session, &conversationID
		if !at.IsZero() {
			d.EventTime = &at
		}
		docs = append(docs, d)
	}
	if q.vectors == nil {
		_, err := q.IndexNew(ctx, docs)
		return err
	}
	return q.indexWithSpace(ctx, docs)
}

// indexWithSpace indexes what was said and gives it its vectors, or owes them.
func (q documentRepository) indexWithSpace(ctx context.Context, docs []search.Doc) error {
	if q.vectors.inline == nil {
		ids, err := q.IndexNew(ctx, docs)
		if err != nil || len(ids) == 0 {
			return err
		}
		return classify("owe the turns their vectors",
			q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: ids}))
	}
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	return q.indexEmbedded(ctx, docs, q.vectors.space, q.vectors.inline(texts))
}
