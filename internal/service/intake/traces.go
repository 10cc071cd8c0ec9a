package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/store"
)

// TracePorts are what Traces needs.
type TracePorts struct {
	Store store.Traces
	Idle  time.Duration // without spans, after which a conversation is imported
	Log   *slog.Logger
}

// Traces imports the conversations of traces. It is safe for concurrent use.
type Traces struct{ TracePorts }

// NewTraces returns Traces.
func NewTraces(p TracePorts) *Traces {
	return &Traces{p}
}

// Receive stores the spans of a request durably. A repeated span has no effect.
func (t *Traces) Receive(ctx context.Context, ws int64, b *format.SpanBatch) (received int, err error) {
	if len(b.Spans) == 0 && len(b.Ended) == 0 {
		return 0, nil
	}
	return t.Store.PutSpans(ctx, ws, b.Spans, b.Ended, t.Idle)
}

// maxTrace is the size of the file of a conversation in bytes. More spans become further files.
const maxTrace = format.MaxInput - 1<<20

// Import imports the spans of a conversation. session is its key in hexadecimal digits.
func (t *Traces) Import(ctx context.Context, ws int64, session string) error {
	key, err := hex.DecodeString(session)
	if err != nil {
		return fmt.Errorf("parse the session of a trace: %w", err)
	}
	open, err := t.Store.OpenSpans(ctx, ws, key, maxTrace)
	if err != nil {
		return err
	}
	var ids []int64
	var lines [][]byte
	for _, s := range open {
		ids, lines = append(ids, s.ID), append(lines, s.Line)
	}
	if len(open) == 0 {
		return t.Store.ImportSpans(ctx, ws, key, nil, nil)
	}
	file, err := traceFile(format.SpanFileName(key), open[0].Format, format.SpanFile(lines))
	if fault.CodeOf(err) == fault.InvalidArgument {
		// Each span was read when it arrived, so this is a bug. Without its content, the others are not held up.
		t.Log.Error("trace not imported", "workspace", ws, "spans", len(ids), "error", err)
		return t.Store.ImportSpans(ctx, ws, key, ids, nil)
	}
	if err != nil {
		return err
	}
	return t.Store.ImportSpans(ctx, ws, key, ids, file)
}

// traceFile reads a file as any import is read.
func traceFile(name, kind string, content []byte) (*conversation.NewImport, error) {
	result, err := format.Read(name, bytes.NewReader(content), format.Options{Format: kind, AllowUnknown: true})
	if err != nil {
		return nil, err
	}
	packed, err := compressed(content)
	if err != nil {
		return nil, err
	}
	return &conversation.NewImport{Name: name, Format: kind, AllowUnknown: true, SHA256: sha256.Sum256(content),
		Bytes: int64(len(content)), Compressed: packed, Report: result.Report}, nil
}
