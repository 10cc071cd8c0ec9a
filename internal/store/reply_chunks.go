package store

import (
	"context"
	"errors"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// PutChunks stores chunks and notifies their readers, in one transaction for each workspace.
func (s *Store) PutChunks(ctx context.Context, chunks []conversation.ReplyChunk) error {
	all := map[int64]*dbsqlc.ReplyChunksPutParams{}
	for _, c := range chunks {
		p := all[c.Ref.Workspace]
		if p == nil {
			p = &dbsqlc.ReplyChunksPutParams{WorkspaceID: c.Ref.Workspace}
			all[c.Ref.Workspace] = p
		}
		p.Runs, p.Steps = append(p.Runs, c.Ref.Run), append(p.Steps, int32(c.Step))
		p.Attempts, p.Seqs = append(p.Attempts, int32(c.Attempt)), append(p.Seqs, int32(c.Seq))
		p.Bodies = append(p.Bodies, storable(c.Text))
	}
	var errs []error
	for ws, p := range all {
		errs = append(errs, s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
			return classify("store the text of replies", q.q.ReplyChunksPut(ctx, *p))
		}))
	}
	return errors.Join(errs...)
}

// Chunks returns up to max chunks of a run after a position, in order.
func (s *Store) Chunks(ctx context.Context, ref run.Ref, after conversation.ReplyPosition, max int) (
	out []conversation.ReplyChunk, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		rows, err := q.q.ReplyChunksAfter(ctx, dbsqlc.ReplyChunksAfterParams{WorkspaceID: q.ws, RunID: ref.Run,
			Step: int32(after.Step), Attempt: int32(after.Attempt), Seq: int32(after.Seq), MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, conversation.ReplyChunk{Ref: ref, Text: r.Body,
				ReplyPosition: conversation.ReplyPosition{Step: int(r.Step), Attempt: int(r.Attempt), Seq: int(r.Seq)}})
		}
		return classify("read the text of the reply", err)
	})
	return out, err
}

// Steps returns the stored text of each step of a run, in order.
func (s *Store) Steps(ctx context.Context, ref run.Ref) (out []conversation.ReplyStep, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		rows, err := q.q.ReplySteps(ctx, dbsqlc.ReplyStepsParams{WorkspaceID: q.ws, RunID: ref.Run})
		for _, r := range rows {
			out = append(out, conversation.ReplyStep{Number: int(r.Step), Text: r.Content})
		}
		return classify("read the text of the steps", err)
	})
	return out, err
}

// chunksAtOnce is the maximum number of chunks in one deletion.
const chunksAtOnce = 10_000

func (s *Store) purgeChunks(ctx context.Context) (int, error) {
	var n int64
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.ReplyChunksPurge(ctx, chunksAtOnce)
		return err
	})
	return int(n), classify("purge the text of replies", err)
}
