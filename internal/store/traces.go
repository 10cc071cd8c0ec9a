package store

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/store/dbsqlc"
)

// Traces implements the store of received spans.
type Traces struct{ *Store }

// Traces returns the store of received spans.
func (s *Store) Traces() Traces { return Traces{s} }

// spansKept is how long imported spans are known, so that a repeated request has no second effect.
const spansKept = 7 * 24 * time.Hour

// PutSpans stores spans that were not received before, and the tasks that import their conversations.
func (s Traces) PutSpans(ctx context.Context, ws int64, spans []intake.Span, ended [][]byte, idle time.Duration) (
	received int, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		received = 0
		due := map[string]time.Duration{}
		for _, span := range spans {
			n, err := q.q.TraceSpanPut(ctx, dbsqlc.TraceSpanPutParams{WorkspaceID: q.ws, TraceID: span.Trace,
				SpanID: span.ID, Session: span.Session, Format: span.Format, Content: span.Line})
			if err != nil {
				return classify("store a span", err)
			}
			if n == 1 {
				received++
				due[hex.EncodeToString(span.Session)] = idle
			}
		}
		sessions, err := q.q.TraceSessions(ctx, dbsqlc.TraceSessionsParams{WorkspaceID: q.ws, Traces: ended})
		if err != nil {
			return classify("find the conversations of traces", err)
		}
		for _, session := range sessions {
			due[hex.EncodeToString(session)] = 0
		}
		for _, session := range slices.Sorted(maps.Keys(due)) { // in one order, so that no two requests deadlock
			if err := q.Outbox().Enqueue(ctx, outbox.ImportTrace, session, due[session]); err != nil {
				return err
			}
		}
		return classify("forget imported spans", q.q.TraceSpansForget(ctx,
			dbsqlc.TraceSpansForgetParams{WorkspaceID: q.ws, Age: spansKept}))
	})
	return received, err
}

// OpenSpans returns the first spans of a conversation that are not imported.
func (s Traces) OpenSpans(ctx context.Context, ws int64, session []byte, max int64) (out []conversation.OpenSpan,
	err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.TraceSpans(ctx, dbsqlc.TraceSpansParams{WorkspaceID: q.ws, Session: session, MaxSize: max})
		out = nil
		for _, r := range rows {
			out = append(out, conversation.OpenSpan{ID: r.ID, Format: r.Format, Line: r.Content})
		}
		return classify("read the spans of a conversation", err)
	})
	return out, err
}

// ImportSpans stores a file made from spans, removes their content, and settles the task.
func (s Traces) ImportSpans(ctx context.Context, ws int64, session []byte, spans []int64,
	file *conversation.NewImport) error {
	key := hex.EncodeToString(session)
	err := s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.TraceSpansDone(ctx, dbsqlc.TraceSpansDoneParams{WorkspaceID: q.ws, Ids: spans})
		if err != nil {
			return classify("remove the content of spans", err)
		}
		if n != int64(len(spans)) {
			return errImported
		}
		if file != nil {
			if _, _, err := q.putImport(ctx, *file, 0); err != nil {
				return err
			}
		}
		// Settling locks the task. A request that has stored spans since then waits, and stores the task again.
		if err := q.Outbox().Settle(ctx, outbox.ImportTrace, key); err != nil {
			return err
		}
		left, err := q.q.TraceSpansLeft(ctx, dbsqlc.TraceSpansLeftParams{WorkspaceID: q.ws, Session: session})
		if err != nil || !left {
			return classify("find further spans of a conversation", err)
		}
		return q.Outbox().Enqueue(ctx, outbox.ImportTrace, key, 0)
	})
	if errors.Is(err, errImported) {
		return nil
	}
	return err
}

// errImported means that another process has imported the spans, or that they were erased.
var errImported = errors.New("the spans are imported already")
