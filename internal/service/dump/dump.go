package dump

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/store"
)

// page is the number of rows held in memory.
const page = 200

// Options select the content of a dump.
type Options struct {
	Vectors bool // include vectors of memories; without them, a load computes them again
}

// Dump writes a consistent snapshot of a workspace. If it fails, the output has no last line and
// Load rejects it. The act is recorded before the first line, because an interrupted dump has
// disclosed data, too.
func (s *Service) Dump(ctx context.Context, ws int64, to io.Writer, o Options) error {
	err := s.Store.InWorkspace(ctx, ws, func(ctx context.Context, of store.Tx) error {
		return of.Operations().Record(ctx, audit.MemoriesDump, "memories")
	})
	if err != nil {
		return fmt.Errorf("dump the workspace: %w", err)
	}
	return s.dump(ctx, ws, to, o)
}

// dump is Dump without a record of the act.
func (s *Service) dump(ctx context.Context, ws int64, to io.Writer, o Options) error {
	signed, err := s.signing(ctx)
	if err != nil {
		return err
	}
	err = s.Store.InSnapshot(ctx, ws, func(ctx context.Context, from store.Tx) error {
		w := &writer{to: to, sum: sha256.New(), signed: signed}
		if err := s.head(ctx, from, w, o); err != nil {
			return err
		}
		for _, part := range []func(context.Context, store.Tx, *writer, Options) error{dumpTargets, dumpConversations,
			dumpHistories, s.dumpMemories, dumpDocuments} {
			if err := part(ctx, from, w, o); err != nil {
				return err
			}
		}
		return w.end()
	})
	if err != nil {
		return fmt.Errorf("dump the workspace: %w", err)
	}
	return nil
}

func (s *Service) head(ctx context.Context, from store.Tx, w *writer, o Options) error {
	c, err := from.Dump().Counts(ctx)
	if err != nil {
		return err
	}
	model, dims := s.Model, s.Dims
	if c.Model != "" {
		model, dims = c.Model, c.Dims
	}
	return w.line(Header{Kind: KindHeader, Format: Format, Version: Version, Workspace: c.Workspace,
		DumpedAt: time.Now().UTC().Truncate(time.Second), Model: model, Dims: dims, Vectors: o.Vectors,
		Counts: map[string]int64{KindTarget: c.Targets, KindHistory: c.Histories, KindMemory: c.Memories,
			dumpfile.KindIdentity: c.Identities, dumpfile.KindSoul: c.Souls}})
}

// pages writes a list page by page. Next returns the value after which the next page starts.
func pages[T, K any](w *writer, first K, read func(after K) ([]T, error), next func(T) K, write func(T) error) error {
	for after := first; ; {
		rows, err := read(after)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := write(row); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
		after = next(rows[len(rows)-1])
	}
}

func dumpTargets(ctx context.Context, from store.Tx, w *writer, _ Options) error {
	return pages(w, 0, func(after int64) ([]dumpfile.Target, error) {
		return from.Dump().DumpTargets(ctx, after, page)
	}, func(t dumpfile.Target) int64 { return t.Row }, func(t dumpfile.Target) error {
		t.Kind = KindTarget
		return w.line(t)
	})
}

func dumpConversations(ctx context.Context, from store.Tx, w *writer, _ Options) error {
	return pages(w, 0, func(after int64) ([]dumpfile.Conversation, error) {
		return from.Dump().DumpConversations(ctx, after, page)
	}, func(c dumpfile.Conversation) int64 { return c.Row }, func(c dumpfile.Conversation) error {
		c.Kind = KindConversation
		if err := w.line(c); err != nil {
			return err
		}
		for seq := 0; seq < c.Messages; seq += page {
			messages, err := from.Dump().DumpMessages(ctx, c.Row, seq, min(seq+page, c.Messages)-1)
			if err != nil {
				return err
			}
			for _, m := range messages {
				m.Kind = KindMessage
				if err := w.line(m); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func dumpHistories(ctx context.Context, from store.Tx, w *writer, _ Options) error {
	return pages(w, "", func(after string) ([]dumpfile.History, error) {
		return from.Dump().DumpHistories(ctx, after, page)
	}, func(h dumpfile.History) string { return h.ID }, func(h dumpfile.History) error {
		h.Kind = KindHistory
		return w.line(h)
	})
}

func (s *Service) dumpMemories(ctx context.Context, from store.Tx, w *writer, o Options) error {
	var space *int16
	if o.Vectors {
		space = &s.Space
	}
	return pages(w, 0, func(after int64) ([]dumpfile.Memory, error) {
		return from.Dump().DumpMemories(ctx, after, page, space)
	}, func(m dumpfile.Memory) int64 { return m.Key }, func(m dumpfile.Memory) error {
		m.Kind = KindMemory
		return w.line(m)
	})
}

func dumpDocuments(ctx context.Context, from store.Tx, w *writer, _ Options) error {
	for _, d := range []struct {
		kind string
		read func(context.Context, int, int) ([]dumpfile.Document, error)
	}{{dumpfile.KindIdentity, from.Dump().DumpIdentities}, {dumpfile.KindSoul, from.Dump().DumpSouls}} {
		err := pages(w, 0, func(after int) ([]dumpfile.Document, error) {
			return d.read(ctx, after, page)
		}, func(v dumpfile.Document) int { return v.Version }, func(v dumpfile.Document) error {
			v.Kind = d.kind
			return w.line(v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writer writes lines and keeps their number and hash.
type writer struct {
	to     io.Writer
	sum    hash.Hash
	signed hash.Hash
	lines  int
}

func (w *writer) line(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode line %d: %w", w.lines+1, err)
	}
	raw = append(raw, '\n')
	w.sum.Write(raw)
	w.signed.Write(raw)
	w.lines++
	_, err = w.to.Write(raw)
	return err
}

func (w *writer) end() error {
	return w.line(End{Kind: KindEnd, Lines: w.lines, SHA256: hex.EncodeToString(w.sum.Sum(nil)),
		HMAC: hex.EncodeToString(w.signed.Sum(nil))})
}
