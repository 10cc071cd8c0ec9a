package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// Soul returns the active version, or version 0 if there is none.
func (q SoulRepository) Soul(ctx context.Context) (memory.Soul, error) {
	r, err := q.q.SoulGet(ctx, q.ws)
	if isNoRows(err) {
		return memory.Soul{}, nil
	}
	return soulOf(r), classify("read the soul", err)
}

// SoulAt returns one version.
func (q SoulRepository) SoulAt(ctx context.Context, version int) (memory.Soul, error) {
	r, err := q.q.SoulAt(ctx, dbsqlc.SoulAtParams{WorkspaceID: q.ws, Version: narrow(version)})
	if isNoRows(err) {
		return memory.Soul{}, fault.New(fault.NotFound, fmt.Sprintf("soul version %d not found", version),
			"use a version of its history")
	}
	return soulOf(r), classify("read the soul", err)
}

// SoulHistory lists the versions, the latest first.
func (q SoulRepository) SoulHistory(ctx context.Context, max int) ([]memory.Soul, error) {
	rows, err := q.q.SoulHistory(ctx, dbsqlc.SoulHistoryParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the souls", err)
	}
	out := make([]memory.Soul, len(rows))
	for i, r := range rows {
		out[i] = soulOf(r)
	}
	return out, nil
}

// AdvanceSoul adds content as the version after base, which must be the head.
func (q SoulRepository) AdvanceSoul(ctx context.Context, base int, content string, action memory.SoulAction,
	w memory.Writer) (int, error) {
	version := base + 1
	n, err := q.q.SoulAdvance(ctx, dbsqlc.SoulAdvanceParams{Version: int32(version), WorkspaceID: q.ws,
		BaseVersion: int32(base)})
	if err == nil && n != 1 {
		return 0, fault.New(fault.VersionConflict, fmt.Sprintf("the soul has a newer version than %d", base), "")
	}
	if err != nil {
		return 0, classify("move the soul's head", err)
	}
	run, conversation, from, to := provenance(w)
	err = q.q.SoulInsert(ctx, dbsqlc.SoulInsertParams{WorkspaceID: q.ws, Version: int32(version), Content: content,
		Action: string(action), Origin: w.Origin, RunID: run, OpID: w.Op,
		ConversationID: conversation, FromSeq: from, ToSeq: to})
	return version, classify("store the soul", err)
}

func soulOf(r dbsqlc.SoulVersion) memory.Soul {
	return memory.Soul{Version: int(r.Version), Content: r.Content, Action: memory.SoulAction(r.Action),
		Origin: r.Origin, Run: text(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), CreatedAt: r.CreatedAt}
}
