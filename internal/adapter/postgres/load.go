package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/dump"
	"cairn/internal/service/search"
)

// LoadTarget creates a target as it was dumped. An existing one stays unchanged.
func (q loadRepository) LoadTarget(ctx context.Context, t dump.Target) (bool, error) {
	key := memory.Target{Key: t.Key}
	n, err := q.q.TargetLoad(ctx, dbsqlc.TargetLoadParams{WorkspaceID: q.ws, Type: t.Type, TargetKey: storable(t.Key),
		MatchKey: storable(key.MatchKey()), Target: storable(t.Display), Description: storable(t.Description),
		Aliases: texts(t.Aliases), CreatedAt: t.CreatedAt, LastUsedAt: t.LastUsedAt, LastSummaryAt: t.SummaryAt})
	return n == 1, classify("load the target", err)
}

// LoadConversation creates a conversation, or finds it.
func (q loadRepository) LoadConversation(ctx context.Context, c dump.Conversation) (int64, int, error) {
	row, err := q.q.ConversationPut(ctx, dbsqlc.ConversationPutParams{WorkspaceID: q.ws, ExternalID: storable(c.ID),
		Channel: c.Channel, Title: storable(c.Title), Reward: c.Reward})
	return row.ID, int(row.NextSeq), classify("load the conversation", err)
}

// FindConversation finds a conversation by its name.
func (q loadRepository) FindConversation(ctx context.Context, name string) (int64, bool, error) {
	row, err := q.q.ConversationOf(ctx, dbsqlc.ConversationOfParams{WorkspaceID: q.ws, ExternalID: storable(name)})
	if isNoRows(err) {
		return 0, false, nil
	}
	return row.ID, err == nil, classify("find the conversation", err)
}

// LoadHistory stores a session under its dumped ID, or under a new one if another session has that
// ID. Its chunks can be found by words at once, and by vector later.
func (q loadRepository) LoadHistory(ctx context.Context, h *memory.History, id string, chunks []memory.Chunk,
	op string) error {
	p := dbsqlc.HistoryLoadParams{WorkspaceID: q.ws, ID: id, ContentSha256: h.SHA[:], ConversationID: h.Conversation,
		FromSeq: int32(h.FromSeq), ToSeq: int32(h.ToSeq), Messages: int32(h.Messages),
		Tokens: int32(h.Tokens), Author: storable(h.Author), OpID: op, CreatedAt: h.CreatedAt}
	for salt := 0; ; salt++ {
		if salt == salts {
			return fault.New(fault.QuotaExceeded, "no free ID for the session", "")
		}
		n, err := q.q.HistoryLoad(ctx, p)
		if err != nil {
			return classify("load the session", err)
		}
		if n == 1 {
			break
		}
		p.ID = memory.HistoryID(h.SHA, salt)
	}
	h.ID = p.ID
	var docs []search.Doc
	for _, c := range chunks {
		key, err := q.q.ChunkInsert(ctx, dbsqlc.ChunkInsertParams{WorkspaceID: q.ws, HistoryID: p.ID,
			Number: int32(c.Number), FromSeq: int32(c.FromSeq), ToSeq: int32(c.ToSeq), Tokens: int32(c.Tokens)})
		if err != nil {
			return classify("load a part of the session", err)
		}
		docs = append(docs, search.NewDoc(search.KindChunk, key, string(memory.Active), storable(c.Text)))
	}
	return q.indexOwing(ctx, docs, make([][]float32, len(docs)), 0)
}

// LoadMemory creates an entry as it was dumped. It sets the event time of m if m has none.
func (q loadRepository) LoadMemory(ctx context.Context, m *dump.Memory, e *memory.Evidence, op string) (int64, bool,
	error) {
	metadata, err := encode("the metadata", memory.Metadata{}.With(m.Metadata))
	if err != nil {
		return 0, false, err
	}
	_, field := memory.Entry{Content: m.Content, WhenToUse: m.WhenToUse}.Embedded()
	content := storable(m.Content)
	sum := sha256.Sum256([]byte(content))
	conversation, from, to := columns(e)
	r, err := q.q.MemoryLoad(ctx, dbsqlc.MemoryLoadParams{WorkspaceID: q.ws, ExternalID: m.ID, Type: string(m.Type),
		Target: storable(m.Target), Content: content, ContentSha256: sum[:], Version: int32(m.Version),
		Status: string(m.Status), Origin: m.Origin, Tainted: m.Tainted, OpID: op, ConversationID: conversation,
		FromSeq: from, ToSeq: to, EventTime: m.EventTime, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
		WhenToUse: storable(m.WhenToUse), EmbeddedField: field, Metadata: metadata, HistoryID: orNull(m.First),
		Author: storable(m.Author), Importance: float32(m.Importance), Targets: texts(m.Targets),
		SupersededBy: orNull(m.SupersededBy), RetrieveCount: int32(m.Retrieved), LastRetrievedAt: m.RetrievedAt})
	if isNoRows(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, classify("load the memory", err)
	}
	m.EventTime = r.EventTime
	return r.ID, true, nil
}

// LoadRevision creates a revision of an entry.
func (q loadRepository) LoadRevision(ctx context.Context, key int64, r dump.Revision, e *memory.Evidence,
	op string) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(r.Metadata))
	if err != nil {
		return err
	}
	conversation, from, to := columns(e)
	return classify("load the revision", q.q.RevisionLoad(ctx,
		dbsqlc.RevisionLoadParams{WorkspaceID: q.ws, MemoryID: key, Version: int32(r.Version), Action: string(r.Action),
			Status: string(r.Status), Content: storable(r.Content),
			WhenToUse: storable(r.WhenToUse), Metadata: metadata, Targets: texts(r.Targets), Author: storable(r.Author),
			Origin: r.Origin, Tainted: r.Tainted, OpID: op, ConversationID: conversation, FromSeq: from, ToSeq: to,
			CreatedAt: r.CreatedAt}))
}

func columns(e *memory.Evidence) (conversation *int64, from, to *int32) {
	if e == nil {
		return nil, nil, nil
	}
	first, last := int32(e.FromSeq), int32(e.ToSeq)
	return &e.Conversation, &first, &last
}

// IndexLoaded indexes new entries for search.
func (q loadRepository) IndexLoaded(ctx context.Context, all []dump.IndexedEntry, space int16) error {
	docs, vectors := make([]search.Doc, len(all)), make([][]float32, len(all))
	for i, one := range all {
		docs[i], vectors[i] = longTermDoc(one.Entry), one.Vector
	}
	return q.indexOwing(ctx, docs, vectors, space)
}

// indexOwing indexes new documents and enqueues outbox tasks for those without a vector.
func (q loadRepository) indexOwing(ctx context.Context, docs []search.Doc, vectors [][]float32, space int16) error {
	ids, err := q.documents().IndexNew(ctx, docs)
	if err != nil || len(ids) == 0 {
		return err
	}
	var owed, have []int64
	var given [][]float32
	for i, id := range ids {
		if len(vectors[i]) == 0 {
			owed = append(owed, id)
			continue
		}
		have, given = append(have, id), append(given, vectors[i])
	}
	if len(have) > 0 {
		if err := q.documents().PutEmbeddings(ctx, have, space, given); err != nil {
			return err
		}
		if err := q.documents().oweSpaces(ctx, space, have); err != nil {
			return err
		}
	}
	if len(owed) == 0 {
		return nil
	}
	return classify("enqueue the embedding of documents",
		q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: owed}))
}

// HasDocuments reports whether the workspace has an identity, or a soul.
func (q loadRepository) HasDocuments(ctx context.Context, kind string) (bool, error) {
	c, err := q.dump().Counts(ctx)
	if kind == dump.KindIdentity {
		return c.Identities > 0, err
	}
	return c.Souls > 0, err
}

// LoadDocument creates a version of the identity or the soul.
func (q loadRepository) LoadDocument(ctx context.Context, d dump.Document, op string) error {
	if d.Kind == dump.KindSoul {
		return classify("load the soul", q.q.SoulLoad(ctx,
			dbsqlc.SoulLoadParams{WorkspaceID: q.ws, Version: int32(d.Version), Content: storable(d.Content),
				Action: d.Action, Origin: d.Origin, OpID: op, CreatedAt: d.CreatedAt}))
	}
	return classify("load the identity", q.q.IdentityLoad(ctx,
		dbsqlc.IdentityLoadParams{WorkspaceID: q.ws, Version: int32(d.Version), Content: storable(d.Content),
			Action: d.Action, Origin: d.Origin,
			Author: storable(d.Author), OpID: op, HistoryID: orNull(d.History), CreatedAt: d.CreatedAt}))
}

// SetHead activates a version of the identity or the soul if none is active.
func (q loadRepository) SetHead(ctx context.Context, kind string, version int) (err error) {
	var n int64
	if kind == dump.KindSoul {
		n, err = q.q.SoulAdvance(ctx, dbsqlc.SoulAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
			BaseVersion: 0})
	} else {
		n, err = q.q.IdentityAdvance(ctx, dbsqlc.IdentityAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
			BaseVersion: 0})
	}
	return oneRow(fmt.Sprintf("activate the %s", kind), n, err)
}

// LongTermList lists long-term entries in order of creation, or in reverse order.
func (q loadRepository) LongTermList(ctx context.Context, in memory.Filter) ([]memory.Entry, error) {
	facts, err := encode("the metadata", memory.Metadata{}.With(in.Metadata))
	if err != nil {
		return nil, err
	}
	p := dbsqlc.LongTermListParams{WorkspaceID: q.ws, After: in.After, Types: typeNames(in.Types),
		Targets: texts(in.Targets), EveryStatus: in.EveryStatus, Facts: facts, MaxRows: int32(in.Limit)}
	var rows []dbsqlc.Memory
	if in.Newest {
		rows, err = q.q.LongTermNewest(ctx, dbsqlc.LongTermNewestParams(p))
	} else {
		rows, err = q.q.LongTermList(ctx, p)
	}
	if err != nil {
		return nil, classify("list the memories", err)
	}
	return q.longTerm().complete(ctx, rows)
}
