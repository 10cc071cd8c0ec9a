// Package replystream passes on the text of a reply while a model writes it. A worker writes chunks;
// a gateway reads them. Nothing depends on chunks: the ledger stores the whole reply, and a reader
// takes from there what it has missed.
package replystream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
)

// Sink stores chunks and notifies their readers.
type Sink interface {
	PutChunks(ctx context.Context, chunks []conversation.ReplyChunk) error
}

// Limits of the writer.
const (
	flushEvery    = 40 * time.Millisecond
	flushBytes    = 2 << 10
	flushDeadline = 5 * time.Second
)

// Writer collects the text of all replies that a process receives, and stores it together. It is safe
// for concurrent use.
type Writer struct {
	sink Sink
	log  *slog.Logger

	mu      sync.Mutex
	pending []conversation.ReplyChunk
	size    int
	active  bool          // a goroutine stores chunks
	full    chan struct{} // wakes it before flushEvery is over
}

// NewWriter returns a Writer.
func NewWriter(sink Sink, log *slog.Logger) *Writer {
	return &Writer{sink: sink, log: log, full: make(chan struct{}, 1)}
}

// Open returns the function that takes the parts of a reply, in order.
func (w *Writer) Open(ref run.Ref, step, attempt int) (emit func(text string)) {
	next := conversation.ReplyChunk{Ref: ref, ReplyPosition: conversation.ReplyPosition{Step: step, Attempt: attempt}}
	return func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		// Text that waits since the last flush grows; it is found from the end, because few replies wait.
		for i := len(w.pending) - 1; i >= 0; i-- {
			if c := &w.pending[i]; c.Ref == ref && c.ReplyPosition == next.ReplyPosition {
				c.Text += text
				w.grow(len(text), false)
				return
			}
		}
		next.Seq++
		next.Text = text
		w.pending = append(w.pending, next)
		w.grow(len(text), next.Seq == 1)
	}
}

// grow starts the goroutine that stores chunks, or wakes it if they should not wait.
func (w *Writer) grow(n int, first bool) {
	w.size += n
	switch {
	case !w.active:
		w.active = true
		go w.flush()
	case first || w.size >= flushBytes:
		select {
		case w.full <- struct{}{}:
		default: // it is awake
		}
	}
}

// flush stores chunks until none is left.
func (w *Writer) flush() {
	for { // one goroutine for all replies: their chunks share transactions
		w.mu.Lock()
		chunks := w.pending
		w.pending, w.size = nil, 0
		w.active = len(chunks) > 0
		w.mu.Unlock()
		if len(chunks) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), flushDeadline)
		if err := w.sink.PutChunks(ctx, chunks); err != nil {
			w.log.Warn("text of replies not passed on; readers get it with the whole reply", "error", err)
		}
		cancel()
		select {
		case <-w.full:
		case <-time.After(flushEvery):
		}
	}
}
