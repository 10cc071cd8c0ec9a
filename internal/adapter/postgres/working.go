package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/offload"
)

// offloadStore is the store as working memory sees it.
type offloadStore struct{ *Store }

// Offload is the store for working memory.
func (s *Store) Offload() offload.Store { return offloadStore{s} }

// WithOffload runs fn in a transaction that has entered ws.
func (s offloadStore) WithOffload(ctx context.Context, ws int64, fn func(context.Context, offload.Tx) error) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return fn(ctx, offloadTx(q)) })
}

// Key is the opaque key of the workspace.
func (q workspaceRepository) Key(ctx context.Context) (string, error) {
	ws, err := q.Self(ctx)
	return ws.Key, err
}

// PutOffloaded puts something away for a session.
func (q offloadRepository) PutOffloaded(ctx context.Context, s workingmemory.Session, b workingmemory.Blob,
	ttl time.Duration) error {
	err := q.q.BlobPut(ctx, dbsqlc.BlobPutParams{WorkspaceID: q.ws, Sha256: b.SHA[:], Kind: string(b.Kind),
		Content: storable(b.Content), Ttl: ttl})
	if err != nil {
		return classify("put something away", err)
	}
	return classify("put something away", q.q.BlobUse(ctx,
		dbsqlc.BlobUseParams{WorkspaceID: q.ws, Session: storable(s.Key()), Sha256: b.SHA[:],
			ConversationID: keyOrNull(s.Conversation), Label: storable(b.Label)}))
}

// Offloaded finds what was put away.
func (q offloadRepository) Offloaded(ctx context.Context, s workingmemory.Session,
	sha [sha256.Size]byte) (workingmemory.Blob, bool, error) {
	r, err := q.q.BlobGet(ctx, dbsqlc.BlobGetParams{WorkspaceID: q.ws, Sha256: sha[:], Session: storable(s.Key())})
	if isNoRows(err) {
		return workingmemory.Blob{}, false, nil
	}
	return workingmemory.Blob{SHA: sha, Kind: workingmemory.Kind(r.Kind), Content: r.Content, Label: r.Label},
		err == nil, classify("read what was put away", err)
}

// OffloadedBy lists what a session has put away, in its order.
func (q offloadRepository) OffloadedBy(ctx context.Context, s workingmemory.Session, most int) ([][sha256.Size]byte,
	error) {
	rows, err := q.q.BlobsOf(ctx, dbsqlc.BlobsOfParams{WorkspaceID: q.ws, Session: storable(s.Key()),
		MaxRows: int32(most)})
	out := make([][sha256.Size]byte, len(rows))
	for i, r := range rows {
		out[i] = [sha256.Size]byte(r)
	}
	return out, classify("list what was put away", err)
}

// PutCompaction stores a record of a conversation; the first up to a turn stays.
func (q offloadRepository) PutCompaction(ctx context.Context, c offload.Compaction) error {
	return classify("store the record", q.q.CompactionPut(ctx,
		dbsqlc.CompactionPutParams{WorkspaceID: q.ws, ConversationID: c.Conversation, UptoTurn: int32(c.Upto),
			RunID:   c.Run,
			Content: storable(c.Content), Tokens: int32(c.Tokens), Degraded: storable(c.Degraded)}))
}

// CompactionAt is the record of a conversation up to a turn.
func (q offloadRepository) CompactionAt(ctx context.Context, conversation int64, upto int) (offload.Compaction, bool,
	error) {
	r, err := q.q.CompactionAt(ctx, dbsqlc.CompactionAtParams{WorkspaceID: q.ws, ConversationID: conversation,
		UptoTurn: int32(upto)})
	if isNoRows(err) {
		return offload.Compaction{}, false, nil
	}
	return offload.Compaction{Conversation: conversation, Upto: int(r.UptoTurn), Run: r.RunID, Content: r.Content,
		Tokens: int(r.Tokens), Degraded: r.Degraded}, err == nil, classify("read the record", err)
}

// Record is what the turn of a run begins with.
func (q offloadRepository) Record(ctx context.Context, id int64) (agentrun.Record, error) {
	r, err := q.q.CompactionOfTurn(ctx, dbsqlc.CompactionOfTurnParams{WorkspaceID: q.ws, RunID: &id})
	if isNoRows(err) {
		return agentrun.Record{}, nil
	}
	return agentrun.Record{Upto: int(r.UptoTurn), Content: r.Content, Run: r.RunID}, classify("read the record", err)
}

// purgeAtOnce bounds one deletion of what has expired.
const purgeAtOnce = 100

// PurgeBlobs takes away what was put away for a time that is over, of all
// workspaces, some at a time, and returns how many there were.
func (s *Store) PurgeBlobs(ctx context.Context) (int, error) {
	n, err := dbsqlc.New(s.system).BlobsPurge(ctx, purgeAtOnce)
	return int(n), classify("purge what has expired", err)
}
