package dump

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"slices"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Limits of a batch, which is written in one transaction.
const (
	batchRows  = 500
	batchBytes = 8 << 20
)

// batch holds memories that follow one another in a file.
type batch struct {
	first    int // number of the first line
	rows     int
	bytes    int
	sum      hash.Hash // of its lines
	memories []*dumpfile.LoadedMemory
	ignored  int // lines of other programs that are not memories
}

// full reports whether the file may have more memories after the batch.
func (b *batch) full() bool { return b.rows == batchRows || b.bytes >= batchBytes }

// name returns the name of the part that loads the batch. It depends on the content, because a copy
// that is repeated reads its source again.
func (b *batch) name() string { return fmt.Sprintf("%d/%x", b.first, b.sum.Sum(nil)[:8]) }

// batch reads the next memories of the file.
func (l *loading) batch() (*batch, error) {
	b := &batch{sum: sha256.New()}
	for !b.full() && l.from.next() {
		raw := l.from.line()
		if l.legacy && len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		m, err := l.decode(raw)
		if err != nil {
			return nil, err
		}
		if m == nil && !l.legacy {
			l.from.unread()
			break
		}
		if b.rows == 0 {
			b.first = l.from.n
		}
		b.rows++
		b.bytes += len(raw)
		b.sum.Write(raw)
		b.sum.Write([]byte("\n"))
		if m == nil {
			b.ignored++
			continue
		}
		b.memories = append(b.memories, m)
	}
	return b, l.from.err()
}

// decode returns the memory in a line, or nil if the line has none.
func (l *loading) decode(raw []byte) (*dumpfile.LoadedMemory, error) {
	if l.legacy {
		return foreign(l.from.n, raw)
	}
	kind, err := kindOf(raw)
	if err != nil || part(kind) != 1 {
		return nil, err
	}
	m := &dumpfile.LoadedMemory{}
	if err := json.Unmarshal(raw, &m.Memory); err != nil {
		return nil, dumpfile.Wrong(l.from.n, "%v", err)
	}
	if !l.header.Vectors || l.header.Model != l.Model || l.header.Dims != l.Dims {
		m.Vector = nil
	}
	return m, nil
}

// memories loads a batch. Vectors that the file does not have are computed before the transaction.
func (l *loading) memories(ctx context.Context, b *batch) error {
	out := LoadResult{Ignored: b.ignored}
	var owners []dumpfile.Target
	for _, m := range b.memories {
		if owner := l.ids.apply(m); owner != nil {
			owners = append(owners, *owner)
		}
		m.First = l.session(m.First)
		for i, id := range m.Histories {
			m.Histories[i] = l.session(id)
		}
		unsafe := dumpfile.Suspicious(guard.Dangerous, m.Content, m.WhenToUse, m.Metadata.Text())
		if l.signed != Verified && m.Distrust() || m.Status == memory.Active && unsafe {
			m.Status = memory.Quarantined
			out.Quarantined++
		}
	}
	vectors, err := l.vectors(ctx, b)
	if err != nil {
		return err
	}
	err = l.part(ctx, b.name(), func(ctx context.Context, to store.Tx, done *partResult) error {
		done.LoadResult = out
		if l.legacy {
			if err := l.resolve(ctx, to, b, &done.LoadResult); err != nil {
				return err
			}
		}
		made, err := to.Load().LoadTargets(ctx, owners)
		if err != nil {
			return err
		}
		done.Targets += made
		if err := findEvidence(ctx, to, b.memories); err != nil {
			return err
		}
		if err := to.Load().LoadMemories(ctx, b.memories, l.op); err != nil {
			return err
		}
		var index []dumpfile.IndexedEntry
		for _, m := range b.memories {
			count(&done.LoadResult, &done.Memories, m.Key != 0)
			if m.Key == 0 || m.Status != memory.Active {
				continue
			}
			text, _ := m.Entry().Embedded()
			e := dumpfile.IndexedEntry{Entry: m.Entry(), Vector: vectors.Vectors[text]}
			if len(e.Vector) == 0 && vectors.Space == l.Space {
				e.Vector = m.Vector
			}
			if len(e.Vector) == 0 {
				done.Embedding++
			}
			index = append(index, e)
		}
		return to.Load().IndexLoaded(ctx, index, vectors.Space)
	})
	if err != nil {
		return fmt.Errorf("load the memories from line %d on: %w", b.first, err)
	}
	return nil
}

// vectors embeds the texts of new memories that have no vector in the file. It returns none if the
// part is done, or if the embedder has failed in this load. Vectors of the file are in l.Space; they
// are used unless the workspace uses another space.
func (l *loading) vectors(ctx context.Context, b *batch) (memory.Embedded, error) {
	none := memory.Embedded{Space: l.Space}
	var ids []string
	for _, m := range b.memories {
		ids = append(ids, m.ID)
	}
	known := map[string]bool{}
	err := l.Store.InWorkspace(ctx, l.ws, func(ctx context.Context, to store.Tx) (err error) {
		name := b.name()
		_, done, err := to.Operations().Logged(ctx, l.op+"/"+name, name)
		if err != nil || done {
			ids = nil
			return err
		}
		known, err = to.Load().KnownMemories(ctx, ids)
		return err
	})
	if err != nil || ids == nil || l.dark {
		return none, err
	}
	var texts []string
	for _, m := range b.memories {
		if m.Status == memory.Active && len(m.Vector) == 0 && !known[m.ID] {
			text, _ := m.Entry().Embedded()
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	spaces := search.SpacesOr(l.Spaces, search.Space{ID: l.Space, Embedder: l.Embedder})
	vectors := memories.Embed(ctx, spaces, l.ws, texts)
	if vectors.Vectors == nil {
		l.dark = len(texts) > 0
		return none, ctx.Err()
	}
	return vectors, nil
}

// findEvidence finds the conversations of the evidence. A memory is kept without evidence if its
// conversation does not exist.
func findEvidence(ctx context.Context, to store.Tx, all []*dumpfile.LoadedMemory) error {
	var names []string
	each := func(use func(e *dumpfile.Evidence) *memory.Evidence) {
		for _, m := range all {
			m.From, m.RevisionsFrom = use(m.Evidence), make([]*memory.Evidence, len(m.Revisions))
			for i, r := range m.Revisions {
				m.RevisionsFrom[i] = use(r.Evidence)
			}
		}
	}
	each(func(e *dumpfile.Evidence) *memory.Evidence {
		if e != nil {
			names = append(names, e.Conversation)
		}
		return nil
	})
	slices.Sort(names)
	ids, err := to.Load().FindConversations(ctx, slices.Compact(names))
	if err != nil {
		return err
	}
	each(func(e *dumpfile.Evidence) *memory.Evidence {
		if e == nil || ids[e.Conversation] == 0 {
			return nil
		}
		return &memory.Evidence{Conversation: ids[e.Conversation], FromSeq: e.FromSeq, ToSeq: e.ToSeq}
	})
	return nil
}
