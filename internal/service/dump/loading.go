package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// loading is the state of one load. It holds one page of rows.
type loading struct {
	*Service
	checked
	to  Destination
	ws  int64
	op  string
	out LoadResult

	conversation int64 // conversation whose messages follow
	kept         bool  // the conversation exists; its messages are compared
	messages     []transcript.Message
	left         int
	renamed      map[string]string // IDs of existing sessions by their ID in the file
	index        []IndexedEntry
	had          map[string]bool // kinds of documents that the workspace has
	heads        [2]int
}

func (l *loading) line(ctx context.Context, n int, raw []byte) error {
	if l.legacy {
		return l.foreign(ctx, n, raw)
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return wrong(n, "%v", err)
	}
	o, known, err := decode(kind.Kind, raw)
	if err != nil || !known { // header and last line
		return err
	}
	if err := l.one(ctx, o); err != nil {
		if f := fault.From(err); f.Code != fault.Internal && !fault.Table[f.Code].Retryable {
			return fault.Wrap(err, f.Code, fmt.Sprintf("nothing was loaded: line %d is invalid", n), f.Hint)
		}
		return fmt.Errorf("load line %d: %w", n, err)
	}
	return nil
}

func (l *loading) one(ctx context.Context, o one) error {
	switch {
	case o.Target != nil:
		made, err := l.to.Rows().LoadTarget(ctx, *o.Target)
		l.count(&l.out.Targets, made)
		return err
	case o.Conversation != nil:
		return l.open(ctx, *o.Conversation)
	case o.Message != nil:
		return l.message(ctx, o.Message.message())
	case o.History != nil:
		return l.history(ctx, *o.History)
	case o.Memory != nil:
		return l.memory(ctx, *o.Memory)
	case o.Identity != nil:
		return l.document(ctx, *o.Identity, 0, &l.out.Identities)
	}
	return l.document(ctx, *o.Soul, 1, &l.out.Souls)
}

func (l *loading) count(what *int, made bool) {
	if made {
		*what++
	} else {
		l.out.Skipped++
	}
}

func (l *loading) open(ctx context.Context, c Conversation) error {
	id, has, err := l.to.Rows().LoadConversation(ctx, c)
	if err != nil {
		return err
	}
	if has != 0 && has < c.Messages {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("conversation %q already exists with %d messages, the file has %d", c.ID, has, c.Messages),
			"load it into another workspace")
	}
	l.conversation, l.kept, l.left, l.messages = id, has != 0, c.Messages, nil
	l.count(&l.out.Conversations, !l.kept)
	return nil
}

func (l *loading) message(ctx context.Context, m transcript.Message) error {
	l.messages = append(l.messages, m)
	if l.left--; l.left > 0 && len(l.messages) < page {
		return nil
	}
	batch := l.messages
	l.messages = nil
	if !l.kept {
		l.out.Messages += len(batch)
		return l.to.Rows().LoadMessages(ctx, l.conversation, batch[0].Seq, batch)
	}
	there, err := l.to.Present().Conversation(ctx, l.conversation, batch[0].Seq, batch[len(batch)-1].Seq)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(there.Messages, batch, func(a, b transcript.Message) bool {
		return a.Role == b.Role && a.Content == b.Content
	}) {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("conversation %q already exists with other messages", there.ID),
			"load it into another workspace")
	}
	return nil
}

// history finds an existing session with the same messages, or stores the session under its ID in the file.
func (l *loading) history(ctx context.Context, h History) error {
	id, found, err := l.to.Rows().FindConversation(ctx, h.Range.Conversation)
	if err != nil || !found {
		return errors.Join(err, fault.New(fault.InvalidArgument,
			fmt.Sprintf("session %s refers to conversation %q, which is not in the file", h.ID, h.Range.Conversation),
			""))
	}
	c, err := l.to.Present().Conversation(ctx, id, h.Range.FromSeq, h.Range.ToSeq)
	if err != nil {
		return err
	}
	said := memory.Said(c.Messages)
	sum, err := memory.HistorySum(l.ws, said)
	if err != nil {
		return err
	}
	known, found, err := l.to.Present().HistoryBySum(ctx, sum)
	if err != nil {
		return err
	}
	l.count(&l.out.Histories, !found)
	if found {
		l.rename(h.ID, known.ID)
		return nil
	}
	chunks := memory.Chunks(said, llm.EstimateTokens)
	made := memory.History{SHA: sum, Conversation: id, FromSeq: h.Range.FromSeq, ToSeq: h.Range.ToSeq,
		Messages: len(said), Author: h.Author, CreatedAt: h.CreatedAt}
	for _, part := range chunks {
		made.Tokens += part.Tokens
	}
	if err := l.to.Rows().LoadHistory(ctx, &made, h.ID, chunks, l.op); err != nil {
		return err
	}
	l.rename(h.ID, made.ID)
	l.out.Embedding += len(chunks)
	return nil
}

func (l *loading) rename(old, id string) {
	if old != id {
		l.renamed[old] = id
	}
}

func (l *loading) session(id string) string {
	if other, ok := l.renamed[id]; ok {
		return other
	}
	return id
}

func (l *loading) memory(ctx context.Context, m Memory) error {
	m.First = l.session(m.First)
	evidence, err := l.evidence(ctx, m.Evidence)
	if err != nil {
		return err
	}
	if m.Status == memory.Active && poisoned(m) {
		m.Status = memory.Quarantined
		l.out.Quarantined++
	}
	key, made, err := l.to.Rows().LoadMemory(ctx, &m, evidence, l.op)
	l.count(&l.out.Memories, made)
	if err != nil || !made {
		return err
	}
	for _, r := range m.Revisions {
		evidence, err := l.evidence(ctx, r.Evidence)
		if err != nil {
			return err
		}
		if err := l.to.Rows().LoadRevision(ctx, key, r, evidence, l.op); err != nil {
			return err
		}
	}
	for _, id := range m.Histories {
		if err := l.to.Present().Refer(ctx, key, l.session(id), 0); err != nil {
			return err
		}
	}
	if m.Status != memory.Active {
		return nil
	}
	e := IndexedEntry{Entry: memory.Entry{Key: key, ID: m.ID, Type: m.Type, Target: m.Target, Content: m.Content,
		WhenToUse: m.WhenToUse, Status: m.Status, EventTime: m.EventTime, Evidence: evidence}}
	if l.header.Vectors && l.header.Model == l.Model && l.header.Dims == l.Dims {
		e.Vector = m.Vector
	}
	if len(e.Vector) == 0 {
		l.out.Embedding++
	}
	if l.index = append(l.index, e); len(l.index) < page {
		return nil
	}
	return l.flush(ctx)
}

func (l *loading) flush(ctx context.Context) error {
	all := l.index
	l.index = nil
	return l.to.Documents().IndexLoaded(ctx, all, l.Space)
}

// poisoned reports whether a memory contains text that Cairn refuses to store: its later readers
// must not follow instructions from a file.
func poisoned(m Memory) bool {
	for _, text := range []string{m.Content, m.WhenToUse, m.Metadata.Text()} {
		if len(guard.Secrets(text)) > 0 || guard.Verdict(guard.Scan(text, guard.Strict)) == guard.Dangerous {
			return true
		}
	}
	return false
}

// evidence returns nil if its conversation was not loaded. The memory is kept without it.
func (l *loading) evidence(ctx context.Context, e *Evidence) (*memory.Evidence, error) {
	if e == nil {
		return nil, nil
	}
	id, found, err := l.to.Rows().FindConversation(ctx, e.Conversation)
	if err != nil || !found {
		return nil, err
	}
	return &memory.Evidence{Conversation: id, FromSeq: e.FromSeq, ToSeq: e.ToSeq}, nil
}

func (l *loading) document(ctx context.Context, d Document, which int, count *int) error {
	if l.had == nil {
		l.had = map[string]bool{}
	}
	had, asked := l.had[d.Kind]
	if !asked {
		var err error
		if had, err = l.to.Documents().HasDocuments(ctx, d.Kind); err != nil {
			return err
		}
		l.had[d.Kind] = had
	}
	l.count(count, !had)
	if had {
		return nil
	}
	d.History = l.session(d.History)
	l.heads[which] = max(l.heads[which], d.Version)
	return l.to.Documents().LoadDocument(ctx, d, l.op)
}

func (l *loading) finish(ctx context.Context, out *LoadResult) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	for which, kind := range []string{KindIdentity, KindSoul} {
		if l.heads[which] > 0 {
			if err := l.to.Rows().SetHead(ctx, kind, l.heads[which]); err != nil {
				return err
			}
		}
	}
	*out = l.out
	return nil
}
