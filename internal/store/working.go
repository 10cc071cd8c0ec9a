package store

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/store/dbsqlc"
)

// Key returns the opaque key of the workspace.
func (q WorkspaceRepository) Key(ctx context.Context) (string, error) {
	ws, err := q.Self(ctx)
	return ws.Key, err
}

// PutOffloaded stores content that a session offloads.
func (q OffloadRepository) PutOffloaded(ctx context.Context, s workingmemory.Session, b workingmemory.Blob,
	ttl time.Duration) error {
	err := q.q.BlobPut(ctx, dbsqlc.BlobPutParams{WorkspaceID: q.ws, Sha256: b.SHA[:], Kind: string(b.Kind),
		Content: storable(b.Content), Ttl: ttl})
	if err != nil {
		return classify("offload content", err)
	}
	return classify("record the use of offloaded content", q.q.BlobUse(ctx,
		dbsqlc.BlobUseParams{WorkspaceID: q.ws, Session: storable(s.Key()), Sha256: b.SHA[:],
			ConversationID: keyOrNull(s.Conversation), Label: storable(b.Label)}))
}

// Offloaded finds offloaded content.
func (q OffloadRepository) Offloaded(ctx context.Context, s workingmemory.Session,
	sha [sha256.Size]byte) (workingmemory.Blob, bool, error) {
	r, err := q.q.BlobGet(ctx, dbsqlc.BlobGetParams{WorkspaceID: q.ws, Sha256: sha[:], Session: storable(s.Key())})
	if isNoRows(err) {
		return workingmemory.Blob{}, false, nil
	}
	return workingmemory.Blob{SHA: sha, Kind: workingmemory.Kind(r.Kind), Content: r.Content, Label: r.Label},
		err == nil, classify("read offloaded content", err)
}

// OffloadedBy lists the content that a session has offloaded, in order.
func (q OffloadRepository) OffloadedBy(ctx context.Context, s workingmemory.Session, most int) ([][sha256.Size]byte,
	error) {
	rows, err := q.q.BlobsOf(ctx, dbsqlc.BlobsOfParams{WorkspaceID: q.ws, Session: storable(s.Key()),
		MaxRows: int32(most)})
	out := make([][sha256.Size]byte, len(rows))
	for i, r := range rows {
		out[i] = [sha256.Size]byte(r)
	}
	return out, classify("list offloaded content", err)
}

// PutCompaction stores a compaction of a conversation. An existing one up to the same turn stays
// unchanged.
func (q OffloadRepository) PutCompaction(ctx context.Context, c workingmemory.Compaction) error {
	return classify("store the compaction", q.q.CompactionPut(ctx,
		dbsqlc.CompactionPutParams{WorkspaceID: q.ws, ConversationID: c.Conversation, UptoTurn: int32(c.Upto),
			RunID:   c.Run,
			Content: storable(c.Content), Tokens: int32(c.Tokens), Degraded: storable(c.Degraded)}))
}

// CompactionAt returns the compaction of a conversation up to a turn.
func (q OffloadRepository) CompactionAt(ctx context.Context, conversation int64, upto int) (workingmemory.Compaction,
	bool,
	error) {
	r, err := q.q.CompactionAt(ctx, dbsqlc.CompactionAtParams{WorkspaceID: q.ws, ConversationID: conversation,
		UptoTurn: int32(upto)})
	if isNoRows(err) {
		return workingmemory.Compaction{}, false, nil
	}
	return workingmemory.Compaction{Conversation: conversation, Upto: int(r.UptoTurn), Run: r.RunID, Content: r.Content,
		Tokens: int(r.Tokens), Degraded: r.Degraded}, err == nil, classify("read the compaction", err)
}

// Record returns the compaction that a run's turn starts with.
func (q OffloadRepository) Record(ctx context.Context, id string) (conversation.Record, error) {
	r, err := q.q.CompactionOfTurn(ctx, dbsqlc.CompactionOfTurnParams{WorkspaceID: q.ws, RunID: &id})
	if isNoRows(err) {
		return conversation.Record{}, nil
	}
	record := conversation.Record{Upto: int(r.UptoTurn), Content: r.Content, Run: r.RunID}
	return record, classify("read the compaction", err)
}

// blobsAtOnce is the maximum number of rows in one deletion of expired content.
const blobsAtOnce = 100

// Purge deletes a part of what has expired in all workspaces: offloaded content, chunks of replies, attachments,
// handled events, sent deliveries and sums of old days. It returns the number of rows.
func (s *Store) Purge(ctx context.Context) (n int, err error) {
	for _, purge := range []func(context.Context) (int, error){s.purgeBlobs, s.purgeChunks, s.purgeAttachments,
		s.purgeChannels, s.purgeDays} {
		rows, err := purge(ctx)
		if n += rows; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *Store) purgeBlobs(ctx context.Context) (int, error) {
	var n int64
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.BlobsPurge(ctx, blobsAtOnce)
		return err
	})
	return int(n), classify("purge expired content", err)
}
