package store

import (
	"context"
	"strings"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/index"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// turnVectors configures how messages of turns get their vectors.
type turnVectors struct {
	space  int16
	inline func(texts []string) [][]float32
}

// EmbedTurns enables vectors in space for messages. If inline is set, it computes them in the
// transaction that stores the messages. Otherwise an outbox task does. Without EmbedTurns, messages
// are found only by their words. Call it before the store is used.
func (s *Store) EmbedTurns(space int16, inline func(texts []string) [][]float32) {
	s.vectors = &turnVectors{space: space, inline: inline}
}

// SittingGap is the pause that separates two periods of activity of a conversation. It equals the
// time after which a conversation is idle.
const SittingGap = 30 * time.Minute

// indexedRunes is the length up to which a message is indexed, in runes. Long pasted text would
// otherwise dominate the message.
const indexedRunes = 4000

// lastSitting reads the last activity of a conversation before a message.
func (q DocumentRepository) lastSitting(ctx context.Context, conversationID int64,
	seq int) (conversation.ActivityWindow,
	error) {
	r, err := q.q.LastSitting(ctx, dbsqlc.LastSittingParams{WorkspaceID: q.ws, ConversationID: conversationID,
		Before: int32(seq)})
	return conversation.ActivityWindow(r), classify("read the last activity", err)
}

// IndexSaid indexes messages of a live conversation for search, each by its Seq. Messages without a
// time get the current one.
func (q DocumentRepository) IndexSaid(ctx context.Context, c conversation.Conversation,
	ms []transcript.Message) (err error) {
	if c.Last.Now.IsZero() {
		if c.Last, err = q.lastSitting(ctx, c.ID, c.NextSeq); err != nil {
			return err
		}
	}
	return q.indexTurns(ctx, c.ID, ms, c.Last, true)
}

// indexTurns indexes the messages of users and assistants for search. Tool results and system
// messages are not indexed. If live is set, messages without a time get the current one.
func (q DocumentRepository) indexTurns(ctx context.Context, conversationID int64, ms []transcript.Message,
	last conversation.ActivityWindow, live bool) error {
	session, before, docs := int(last.Session), last.EventTime, []index.Doc{}
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
		d := index.NewDoc(index.KindTurn, conversationID, "active", text).About(storable(m.Name))
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

// indexWithSpace indexes documents with their vectors, or enqueues the embedding.
func (q DocumentRepository) indexWithSpace(ctx context.Context, docs []index.Doc) error {
	if q.vectors.inline == nil {
		ids, err := q.IndexNew(ctx, docs)
		if err != nil || len(ids) == 0 {
			return err
		}
		return classify("enqueue the embedding of turns",
			q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: ids}))
	}
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	return q.indexEmbedded(ctx, docs, q.vectors.space, q.vectors.inline(texts))
}
