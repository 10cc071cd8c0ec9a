package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// HistoryBySum finds a session by the hash of its messages.
func (q HistoryRepository) HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error) {
	r, err := q.q.HistoryBySum(ctx, dbsqlc.HistoryBySumParams{WorkspaceID: q.ws, ContentSha256: sum[:]})
	return historyOf(r, err)
}

// History finds a session by its ID.
func (q HistoryRepository) History(ctx context.Context, id string) (memory.History, bool, error) {
	r, err := q.q.HistoryGet(ctx, dbsqlc.HistoryGetParams{WorkspaceID: q.ws, ID: storable(id)})
	return historyOf(r, err)
}

func historyOf(r dbsqlc.MemoryHistory, err error) (memory.History, bool, error) {
	if isNoRows(err) {
		return memory.History{}, false, nil
	}
	if err != nil {
		return memory.History{}, false, classify("read the session", err)
	}
	return memory.History{ID: r.ID, SHA: [32]byte(r.ContentSha256), Conversation: r.ConversationID,
		FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq), Messages: int(r.Messages), Tokens: int(r.Tokens),
		Author: r.Author, CreatedAt: r.CreatedAt}, true, nil
}

// PutHistory stores a session, sets its ID, and indexes its chunks for search.
func (q HistoryRepository) PutHistory(ctx context.Context, h *memory.History, chunks []memory.Chunk,
	w memory.Writer) error {
	docs, err := q.StoreHistory(ctx, h, chunks, w)
	if err != nil {
		return err
	}
	kept, _, err := q.History(ctx, h.ID)
	if err != nil {
		return err
	}
	*h = kept
	vectors := make([][]float32, len(chunks))
	for i, c := range chunks {
		vectors[i] = w.Vectors[c.Text]
	}
	return q.transaction().Documents().indexWithVectors(ctx, docs, vectors, w.Space)
}

// StoreHistory stores a session and its chunks, sets its ID, and returns the documents of the chunks, which are not
// indexed yet.
func (q HistoryRepository) StoreHistory(ctx context.Context, h *memory.History, chunks []memory.Chunk,
	w memory.Writer) (docs []index.Doc, err error) {
	run, _, _, _ := provenance(w)
	p := dbsqlc.HistoryInsertParams{WorkspaceID: q.ws, ContentSha256: h.SHA[:], ConversationID: h.Conversation,
		FromSeq: int32(h.FromSeq), ToSeq: int32(h.ToSeq), Messages: int32(h.Messages),
		Tokens: int32(h.Tokens), Author: storable(h.Author), RunID: run, OpID: w.Op}
	for salt := 0; ; salt++ {
		if salt == salts {
			return nil, fault.New(fault.QuotaExceeded, "no free ID for the session", "")
		}
		p.ID = memory.HistoryID(h.SHA, salt)
		n, err := q.q.HistoryInsert(ctx, p)
		if err != nil {
			return nil, classify("store the session", err)
		}
		if n == 1 {
			break
		}
	}
	h.ID = p.ID
	for _, c := range chunks {
		id, err := q.q.ChunkInsert(ctx, dbsqlc.ChunkInsertParams{WorkspaceID: q.ws, HistoryID: p.ID,
			Number: int32(c.Number), FromSeq: int32(c.FromSeq), ToSeq: int32(c.ToSeq), Tokens: int32(c.Tokens)})
		if err != nil {
			return nil, classify("store a part of the session", err)
		}
		d := index.NewDoc(index.KindChunk, id, string(memory.Active), storable(c.Text))
		docs = append(docs, d)
	}
	return docs, nil
}

// RankChunks ranks the parts of one session, the best first.
func (q HistoryRepository) RankChunks(ctx context.Context, history, query string, vector []float32,
	space int16) ([]memory.Chunk, error) {
	in := index.Query{Vector: vector, Space: space}
	for _, t := range lexical.Terms(query) {
		in.Terms = append(in.Terms, t.Hash)
	}
	v, s := vectorOf(in)
	rows, err := q.q.ChunksRanked(ctx, dbsqlc.ChunksRankedParams{WorkspaceID: q.ws, Terms: terms(in.Terms), Query: v,
		Space: s, HistoryID: history})
	if err != nil {
		return nil, classify("rank the parts of the session", err)
	}
	out := make([]memory.Chunk, len(rows))
	for i, r := range rows {
		out[i] = memory.Chunk{Number: int(r.Number), FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq),
			Tokens: int(r.Tokens), Score: r.Score}
	}
	return out, nil
}

// Identity returns the active version, or version 0 if there is none.
func (q IdentityRepository) Identity(ctx context.Context) (memory.IdentityVersion, error) {
	r, err := q.q.IdentityGet(ctx, q.ws)
	if isNoRows(err) {
		return memory.IdentityVersion{}, nil
	}
	return identityOf(r), classify("read the identity", err)
}

// IdentityAt returns one version.
func (q IdentityRepository) IdentityAt(ctx context.Context, version int) (memory.IdentityVersion, error) {
	r, err := q.q.IdentityAt(ctx, dbsqlc.IdentityAtParams{WorkspaceID: q.ws, Version: int32(version)})
	if isNoRows(err) {
		return memory.IdentityVersion{}, fault.New(fault.NotFound,
			fmt.Sprintf("identity version %d not found", version), "use a version of its history")
	}
	return identityOf(r), classify("read the identity", err)
}

// IdentityHistory lists the versions, the latest first.
func (q IdentityRepository) IdentityHistory(ctx context.Context, max int) ([]memory.IdentityVersion, error) {
	rows, err := q.q.IdentityHistory(ctx, dbsqlc.IdentityHistoryParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	out := make([]memory.IdentityVersion, len(rows))
	for i, r := range rows {
		out[i] = identityOf(r)
	}
	return out, classify("list the identities", err)
}

// AdvanceIdentity adds content as the next version. base must be the head. The numbers may have a
// gap, if an erasure has reactivated an earlier version.
func (q IdentityRepository) AdvanceIdentity(ctx context.Context, base int, content, action, history string,
	w memory.Writer) (int, error) {
	latest, err := q.q.IdentityLatest(ctx, q.ws)
	if err != nil {
		return 0, classify("find the last identity", err)
	}
	version := int(latest) + 1
	n, err := q.q.IdentityAdvance(ctx, dbsqlc.IdentityAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
		BaseVersion: int32(base)})
	if err == nil && n != 1 {
		return 0, fault.New(fault.VersionConflict, fmt.Sprintf("the identity has a newer version than %d", base), "")
	}
	if err != nil {
		return 0, classify("move the identity's head", err)
	}
	run, _, _, _ := provenance(w)
	err = q.q.IdentityInsert(ctx, dbsqlc.IdentityInsertParams{WorkspaceID: q.ws, Version: int32(version),
		Content: storable(content), Action: action, Origin: w.Origin, Author: storable(w.Author),
		RunID: run, OpID: w.Op, HistoryID: orNull(history)})
	return version, classify("store the identity", err)
}

func identityOf(r dbsqlc.IdentityVersion) memory.IdentityVersion {
	return memory.IdentityVersion{Version: int(r.Version), Content: r.Content, Action: r.Action, Origin: r.Origin,
		Author: r.Author, Run: text(r.RunID), History: text(r.HistoryID), CreatedAt: r.CreatedAt}
}

// TakeLease leases a target for a time. taken is false if another holder has the lease.
func (q LeaseRepository) TakeLease(ctx context.Context, s memory.Scope, holder string,
	lives time.Duration) (memory.Lease, bool, error) {
	r, err := q.q.LeaseTake(ctx, dbsqlc.LeaseTakeParams{WorkspaceID: q.ws, Type: string(s.Type), TargetKey: s.Target,
		Holder: storable(holder), Lives: lives})
	if isNoRows(err) {
		return memory.Lease{}, false, nil
	}
	return memory.Lease{Holder: holder, Fence: r.Fence, Until: r.LeaseUntil}, err == nil,
		classify("lease the target", err)
}

// FreeLease releases a target. The lease of another holder stays unchanged.
func (q LeaseRepository) FreeLease(ctx context.Context, s memory.Scope, l memory.Lease) error {
	_, err := q.q.LeaseFree(ctx, dbsqlc.LeaseFreeParams{WorkspaceID: q.ws, Type: string(s.Type), TargetKey: s.Target,
		Holder: storable(l.Holder), Fence: l.Fence})
	return classify("release the target", err)
}

// FenceOf returns the fencing token of a target's latest lease, 0 before the first. It does not
// change until the transaction ends.
func (q LeaseRepository) FenceOf(ctx context.Context, s memory.Scope) (int64, error) {
	fence, err := q.q.LeaseHeld(ctx, dbsqlc.LeaseHeldParams{WorkspaceID: q.ws, Type: string(s.Type),
		TargetKey: s.Target})
	if isNoRows(err) {
		return 0, nil
	}
	return fence, classify("read the target's fencing token", err)
}
