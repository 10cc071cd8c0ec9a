package dump

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"cairn/internal/agent"
	"cairn/internal/fault"
	"cairn/internal/guard"
	"cairn/internal/llm"
	"cairn/internal/memory"
	"cairn/internal/transcript"
)

// Destination is a workspace in the one transaction that loads into it.
type Destination interface {
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	LockMemories(ctx context.Context) error

	LoadTarget(ctx context.Context, t Target) (made bool, err error)
	// LoadConversation makes a conversation, or finds it; it has so many messages.
	LoadConversation(ctx context.Context, c Conversation) (id int64, messages int, err error)
	LoadMessages(ctx context.Context, conversation int64, from int, ms []transcript.Message) error
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	FindConversation(ctx context.Context, name string) (id int64, found bool, err error)
	HistoryBySum(ctx context.Context, sum [32]byte) (memory.History, bool, error)
	LoadHistory(ctx context.Context, h *memory.History, id string, chunks []memory.Chunk, op string) error
	FindTarget(ctx context.Context, t memory.Target) (memory.Target, bool, error)
	// LoadMemory gives the key of a new entry; made is false for one that is there.
	LoadMemory(ctx context.Context, m Memory, evidence *memory.Evidence, op string) (key int64, made bool, err error)
	LoadRevision(ctx context.Context, key int64, r Revision, evidence *memory.Evidence, op string) error
	Refer(ctx context.Context, key int64, history string, run int64) error
	IndexLoaded(ctx context.Context, all []Indexed, space int16) error
	// LoadDocuments writes versions of the identity or the soul, unless there are some.
	HasDocuments(ctx context.Context, kind string) (bool, error)
	LoadDocument(ctx context.Context, d Document, op string) error
	SetHead(ctx context.Context, kind string, version int) error
}

// Indexed is an entry that is to be found, with its vector where there is one.
type Indexed struct {
	Entry  memory.Entry
	Vector []float32
}

// Store opens both kinds of transactions.
type Store interface {
	WithSnapshot(ctx context.Context, ws int64, fn func(Source) error) error
	WithLoad(ctx context.Context, ws int64, fn func(Destination) error) error
}

// Service dumps and loads.
type Service struct {
	Store Store
	Model string // of the embeddings in force
	Dims  int
	Space int16
}

// Loaded is what a load has written.
type Loaded struct {
	Memories      int `json:"memories"`
	Targets       int `json:"targets"`
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Histories     int `json:"histories"`
	Identities    int `json:"identity_versions"`
	Souls         int `json:"soul_versions"`
	Skipped       int `json:"skipped"`     // were there already, or have no place among memories
	Quarantined   int `json:"quarantined"` // hold a secret or read like an attack, and are shown to no model
	Embedding     int `json:"embedding"`   // get their vectors after the load, in the background
}

// Load reads a file into the actor's workspace: all of it, or nothing. It is
// read whole before the first row is written. The same load, by its operation
// id, is done once.
func (s *Service) Load(ctx context.Context, a agent.Actor, from io.Reader) (out Loaded, err error) {
	if a.Origin != agent.OriginUser {
		return out, fault.New(fault.OutOfScope, "loading a dump is for people", "leave it to the user")
	}
	file, err := os.CreateTemp("", "cairn-load-*")
	if err != nil {
		return out, fmt.Errorf("keep the file while it is read: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}()
	sum := sha256.New()
	if _, err := io.Copy(file, io.TeeReader(from, sum)); err != nil {
		return out, fmt.Errorf("receive the file: %w", err)
	}
	again := func() error { _, err := file.Seek(0, io.SeekStart); return err }
	if err := again(); err != nil {
		return out, err
	}
	known, err := check(file)
	if err != nil {
		return out, err
	}
	args := map[string]string{"call": "load", "sha256": hex.EncodeToString(sum.Sum(nil))}
	err = s.Store.WithLoad(ctx, a.Workspace, func(to Destination) error {
		return to.Do(ctx, a.Op, args, &out, func() error {
			if err := again(); err != nil {
				return err
			}
			if err := to.LockMemories(ctx); err != nil {
				return err
			}
			l := &loading{Service: s, to: to, ws: a.Workspace, op: a.Op, checked: known, renamed: map[string]string{}}
			if err := lines(file, func(n int, raw []byte) error { return l.line(ctx, n, raw) }); err != nil {
				return err
			}
			out = l.out
			return l.finish(ctx, &out)
		})
	})
	if err != nil {
		return Loaded{}, err
	}
	return out, nil
}

// loading is one load. Of what it has read it keeps a page.
type loading struct {
	*Service
	checked
	to  Destination
	ws  int64
	op  string
	out Loaded

	conversation int64 // whose messages come
	kept         bool  // it was there before: its messages are compared
	messages     []transcript.Message
	left         int
	renamed      map[string]string // sessions that are here under other ids
	index        []Indexed
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
	if err != nil || !known { // the header and the end
		return err
	}
	if err := l.one(ctx, o); err != nil {
		if f := fault.From(err); f.Code != fault.Internal && !fault.Table[f.Code].Retryable {
			return fault.Wrap(err, f.Code, fmt.Sprintf("line %d cannot be loaded, and so nothing was", n), f.Hint)
		}
		return fmt.Errorf("load line %d: %w", n, err)
	}
	return nil
}

func (l *loading) one(ctx context.Context, o one) error {
	switch {
	case o.Target != nil:
		made, err := l.to.LoadTarget(ctx, *o.Target)
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
	id, has, err := l.to.LoadConversation(ctx, c)
	if err != nil {
		return err
	}
	if has != 0 && has < c.Messages {
		return fault.New(fault.VersionConflict, fmt.Sprintf("conversation %q is stored already, with %d messages; this one has %d", c.ID, has, c.Messages), "load it into another workspace")
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
		return l.to.LoadMessages(ctx, l.conversation, batch[0].Seq, batch)
	}
	there, err := l.to.Conversation(ctx, l.conversation, batch[0].Seq, batch[len(batch)-1].Seq)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(there.Messages, batch, func(a, b transcript.Message) bool { return a.Role == b.Role && a.Content == b.Content }) {
		return fault.New(fault.VersionConflict, fmt.Sprintf("conversation %q is stored already, with other messages", there.ID), "load it into another workspace")
	}
	return nil
}

// history finds a session by what was said, or keeps it under the id that it has
// in the file.
func (l *loading) history(ctx context.Context, h History) error {
	id, found, err := l.to.FindConversation(ctx, h.Range.Conversation)
	if err != nil || !found {
		return errors.Join(err, fault.New(fault.InvalidArgument, fmt.Sprintf("session %s is about conversation %q, which is not in the file", h.ID, h.Range.Conversation), ""))
	}
	c, err := l.to.Conversation(ctx, id, h.Range.FromSeq, h.Range.ToSeq)
	if err != nil {
		return err
	}
	said := memory.Said(c.Messages)
	sum, err := memory.HistorySum(l.ws, said)
	if err != nil {
		return err
	}
	known, found, err := l.to.HistoryBySum(ctx, sum)
	if err != nil {
		return err
	}
	l.count(&l.out.Histories, !found)
	if found {
		l.rename(h.ID, known.ID)
		return nil
	}
	chunks := memory.Chunks(said, llm.EstimateTokens)
	made := memory.History{SHA: sum, Conversation: id, FromSeq: h.Range.FromSeq, ToSeq: h.Range.ToSeq, Messages: len(said), Author: h.Author, CreatedAt: h.CreatedAt}
	for _, part := range chunks {
		made.Tokens += part.Tokens
	}
	if err := l.to.LoadHistory(ctx, &made, h.ID, chunks, l.op); err != nil {
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
	key, made, err := l.to.LoadMemory(ctx, m, evidence, l.op)
	l.count(&l.out.Memories, made)
	if err != nil || !made {
		return err
	}
	for _, r := range m.Revisions {
		evidence, err := l.evidence(ctx, r.Evidence)
		if err != nil {
			return err
		}
		if err := l.to.LoadRevision(ctx, key, r, evidence, l.op); err != nil {
			return err
		}
	}
	for _, id := range m.Histories {
		if err := l.to.Refer(ctx, key, l.session(id), 0); err != nil {
			return err
		}
	}
	if m.Status != memory.Active {
		return nil
	}
	e := Indexed{Entry: memory.Entry{Key: key, ID: m.ID, Type: m.Type, Target: m.Target, Content: m.Content, WhenToUse: m.WhenToUse, Status: m.Status, EventTime: m.EventTime, Evidence: evidence}}
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
	return l.to.IndexLoaded(ctx, all, l.Space)
}

// poisoned tells that a text would not have been remembered here: whoever reads
// it later must not be told what to do by a file.
func poisoned(m Memory) bool {
	for _, text := range []string{m.Content, m.WhenToUse, m.Metadata.Text()} {
		if len(guard.Secrets(text)) > 0 || guard.Verdict(guard.Scan(text, guard.Strict)) == guard.Dangerous {
			return true
		}
	}
	return false
}

// evidence is nil when its conversation is not here: what is remembered stands
// without it.
func (l *loading) evidence(ctx context.Context, e *Evidence) (*memory.Evidence, error) {
	if e == nil {
		return nil, nil
	}
	id, found, err := l.to.FindConversation(ctx, e.Conversation)
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
		if had, err = l.to.HasDocuments(ctx, d.Kind); err != nil {
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
	return l.to.LoadDocument(ctx, d, l.op)
}

func (l *loading) finish(ctx context.Context, out *Loaded) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	for which, kind := range []string{KindIdentity, KindSoul} {
		if l.heads[which] > 0 {
			if err := l.to.SetHead(ctx, kind, l.heads[which]); err != nil {
				return err
			}
		}
	}
	*out = l.out
	return nil
}

// unnamed is the target of memories that tell nobody.
const unnamed = "default"

// foreign loads a line of another program's dump, under an id of ours.
func (l *loading) foreign(ctx context.Context, n int, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	m, skip, err := foreign(n, raw)
	if err != nil {
		return err
	}
	if skip {
		l.out.Skipped++
		return nil
	}
	if slices.Contains(memory.Registered, m.Type) {
		if m.Target == "" {
			m.Target = unnamed
		}
		t, err := memory.NewTarget(m.Type, m.Target)
		if err != nil {
			return wrong(n, "%v", err)
		}
		known, found, err := l.to.FindTarget(ctx, t)
		if err != nil {
			return err
		}
		if found {
			t = known
		} else if _, err := l.to.LoadTarget(ctx, Target{Type: string(t.Type), Key: t.Key, Display: t.Display, CreatedAt: m.CreatedAt, LastUsedAt: m.CreatedAt}); err != nil {
			return err
		}
		l.count(&l.out.Targets, !found)
		m.Target = t.Key
	}
	if m.Content, err = memory.NormaliseLong(m.Content); err == nil {
		m.WhenToUse, err = memory.NormaliseUse(m.WhenToUse)
	}
	if err != nil {
		return wrong(n, "%v", err)
	}
	m.ID = memory.NewID(l.ws, m.Type, m.Target, m.Content, 0)
	m.Revisions = []Revision{{Version: 1, Action: memory.Add, Status: m.Status, Content: m.Content, WhenToUse: m.WhenToUse, Metadata: m.Metadata, Origin: m.Origin, Author: m.Author, CreatedAt: m.CreatedAt}}
	return l.memory(ctx, m)
}

// Copy loads what another workspace remembers into the actor's.
func (s *Service) Copy(ctx context.Context, from int64, a agent.Actor) (Loaded, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.Dump(ctx, from, w, Options{Vectors: true})) }()
	out, err := s.Load(ctx, a, r)
	return out, errors.Join(err, r.Close())
}
