package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// LoadTargets creates targets as they were dumped and returns their number. Existing ones stay
// unchanged.
func (q LoadRepository) LoadTargets(ctx context.Context, all []dumpfile.Target) (int, error) {
	if len(all) == 0 {
		return 0, nil
	}
	p := dbsqlc.TargetsLoadParams{WorkspaceID: q.ws}
	for _, t := range all {
		match := memory.Target{Key: t.Key}.MatchKey()
		p.Types, p.Keys = append(p.Types, t.Type), append(p.Keys, storable(t.Key))
		p.MatchKeys, p.Names = append(p.MatchKeys, storable(match)), append(p.Names, storable(t.Display))
		p.Descriptions = append(p.Descriptions, storable(t.Description))
		p.Created, p.Used = append(p.Created, instant(&t.CreatedAt)), append(p.Used, instant(&t.LastUsedAt))
		p.Summarised = append(p.Summarised, instant(t.SummaryAt))
	}
	n, err := q.q.TargetsLoad(ctx, p)
	return int(n), classify("load the targets", err)
}

// LoadConversation creates a conversation, or finds it.
func (q LoadRepository) LoadConversation(ctx context.Context, c dumpfile.Conversation) (int64, int, error) {
	row, err := q.q.ConversationPut(ctx, dbsqlc.ConversationPutParams{WorkspaceID: q.ws, ExternalID: storable(c.ID),
		Channel: c.Channel, Title: storable(c.Title), Reward: c.Reward})
	return row.ID, int(row.NextSeq), classify("load the conversation", err)
}

// FindConversations returns the IDs of conversations by their names.
func (q LoadRepository) FindConversations(ctx context.Context, names []string) (map[string]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	stored := map[string]string{}
	for _, name := range names {
		stored[storable(name)] = name
	}
	rows, err := q.q.ConversationsNamed(ctx, dbsqlc.ConversationsNamedParams{WorkspaceID: q.ws, Names: texts(names)})
	out := map[string]int64{}
	for _, r := range rows {
		out[stored[r.ExternalID]] = r.ID
	}
	return out, classify("find the conversations", err)
}

// LoadHistory stores a session under its dumped ID, or under a new one if another session has that
// ID. Its chunks can be found by words at once, and by vector later.
func (q LoadRepository) LoadHistory(ctx context.Context, h *memory.History, id string, chunks []memory.Chunk,
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
	var docs []index.Doc
	for _, c := range chunks {
		key, err := q.q.ChunkInsert(ctx, dbsqlc.ChunkInsertParams{WorkspaceID: q.ws, HistoryID: p.ID,
			Number: int32(c.Number), FromSeq: int32(c.FromSeq), ToSeq: int32(c.ToSeq), Tokens: int32(c.Tokens)})
		if err != nil {
			return classify("load a part of the session", err)
		}
		docs = append(docs, index.NewDoc(index.KindChunk, key, string(memory.Active), storable(c.Text)))
	}
	return q.indexNew(ctx, docs, make([][]float32, len(docs)), 0)
}

// KnownMemories returns which IDs exist.
func (q LoadRepository) KnownMemories(ctx context.Context, ids []string) (map[string]bool, error) {
	rows, err := q.q.MemoriesKnown(ctx, dbsqlc.MemoriesKnownParams{WorkspaceID: q.ws, ExternalIds: texts(ids)})
	out := map[string]bool{}
	for _, id := range rows {
		out[id] = true
	}
	return out, classify("look for the memories", err)
}

// LoadMemories creates entries as they were dumped, with their revisions and sessions.
func (q LoadRepository) LoadMemories(ctx context.Context, all []*dumpfile.LoadedMemory, op string) error {
	rows := memoryRows{dbsqlc.MemoriesPutParams{WorkspaceID: q.ws, OpID: op, Kept: true}}
	byID := map[string]*dumpfile.LoadedMemory{}
	for _, m := range all {
		if byID[m.ID] != nil {
			continue
		}
		byID[m.ID] = m
		if err := rows.add(m.Entry(), m.First, m.RetrievedAt); err != nil {
			return err
		}
	}
	made, err := q.q.MemoriesPut(ctx, rows.MemoriesPutParams)
	if err != nil || len(made) == 0 {
		return classify("load the memories", err)
	}
	revisions := revisionRows{dbsqlc.RevisionsPutParams{WorkspaceID: q.ws, OpID: op}}
	var refs []memory.Reference
	for _, r := range made {
		m := byID[r.ExternalID]
		m.Key, m.EventTime = r.ID, r.EventTime
		for i := range m.Revisions {
			if err := revisions.add(m.Key, m.Revision(i)); err != nil {
				return err
			}
		}
		for _, id := range m.Histories {
			refs = append(refs, memory.Reference{Memory: m.Key, History: id})
		}
	}
	if err := q.q.RevisionsPut(ctx, revisions.RevisionsPutParams); err != nil {
		return classify("load the revisions", err)
	}
	return q.transaction().LongTerm().Refer(ctx, refs, "")
}

// IndexLoaded indexes new entries for search.
func (q LoadRepository) IndexLoaded(ctx context.Context, all []dumpfile.IndexedEntry, space int16) error {
	docs, vectors := make([]index.Doc, len(all)), make([][]float32, len(all))
	for i, one := range all {
		docs[i], vectors[i] = longTermDoc(one.Entry), one.Vector
	}
	return q.indexNew(ctx, docs, vectors, space)
}

// indexNew indexes new documents. Those without a vector get it in the background.
func (q LoadRepository) indexNew(ctx context.Context, docs []index.Doc, vectors [][]float32, space int16) error {
	if len(docs) == 0 {
		return nil
	}
	for i := range docs {
		docs[i].New = true
	}
	return q.transaction().Documents().indexWithVectors(ctx, docs, vectors, space)
}

// HasDocuments reports whether the workspace has an identity, or a soul.
func (q LoadRepository) HasDocuments(ctx context.Context, kind string) (bool, error) {
	c, err := q.transaction().Dump().Counts(ctx)
	if kind == dumpfile.KindIdentity {
		return c.Identities > 0, err
	}
	return c.Souls > 0, err
}

// LoadDocument creates a version of the identity or the soul.
func (q LoadRepository) LoadDocument(ctx context.Context, d dumpfile.Document, op string) error {
	if d.Kind == dumpfile.KindSoul {
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
func (q LoadRepository) SetHead(ctx context.Context, kind string, version int) (err error) {
	var n int64
	if kind == dumpfile.KindSoul {
		n, err = q.q.SoulAdvance(ctx, dbsqlc.SoulAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
			BaseVersion: 0})
	} else {
		n, err = q.q.IdentityAdvance(ctx, dbsqlc.IdentityAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
			BaseVersion: 0})
	}
	return oneRow(fmt.Sprintf("activate the %s", kind), n, err)
}

// LongTermList lists long-term entries in order of creation, or in reverse order.
func (q LoadRepository) LongTermList(ctx context.Context, in memory.Filter) ([]memory.Entry, error) {
	if in.Where != nil {
		rows, err := q.listWhere(ctx, in)
		if err != nil {
			return nil, err
		}
		return q.transaction().LongTerm().complete(ctx, rows)
	}
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
	return q.transaction().LongTerm().complete(ctx, rows)
}

// LockMemories serializes writers of memories in the workspace, before many are written.
func (q LoadRepository) LockMemories(ctx context.Context) error {
	if err := q.transaction().PromptMemory().LockMemories(ctx); err != nil {
		return err
	}
	return q.planForMany(ctx)
}
