package memory

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/index"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// SessionChanges is a session with all changes of its subject's memories. The subject is that of the
// actor. Indexes are unique across the three lists.
type SessionChanges struct {
	Messages []transcript.Message `json:"-"` // the session, without system messages
	Deletes  []DeleteRequest      `json:"deletes,omitempty"`
	Updates  []ChangedMemory      `json:"updates,omitempty"`
	Inserts  []NewMemory          `json:"inserts,omitempty"`
	Digest   string               `json:"digest,omitempty"`   // summary of the session
	Fallback string               `json:"fallback,omitempty"` // summary if Digest is empty or refused
}

// SessionResult is the result of SessionChanges.
type SessionResult struct {
	History  string       `json:"history"`            // ID of the stored session
	New      bool         `json:"new,omitempty"`      // the subject was registered
	Digest   string       `json:"digest,omitempty"`   // ID of its summary
	Fallback bool         `json:"fallback,omitempty"` // the summary is Fallback
	Items    []ItemResult `json:"items"`
}

// PreparedSession holds changes that are scanned and embedded.
type PreparedSession struct {
	actor   agent.Actor
	in      SessionChanges
	sum     [32]byte
	chunks  []memory.Chunk
	vectors memory.Embedded

	refused  []error // of updates
	risky    []bool  // of updates
	inserts  []addition
	digests  []digest // those that can be stored, the best first
	fallback bool     // the best is Fallback
}

// indexed reports whether the parts of the session are compared with queries. The only part of a
// short session needs no document.
func (p *PreparedSession) indexed() bool { return len(p.chunks) > 1 }

// digest is a summary to store.
type digest struct {
	content string
	risky   bool
}

// PrepareSessions scans the changes of sessions and embeds their texts together, before the
// transaction of ApplySessions. Each session has an actor; all are of one workspace.
func (l *LongTermService) PrepareSessions(ctx context.Context, actors []agent.Actor, in []SessionChanges) (
	out []*PreparedSession, err error) {
	var texts []string
	for i := range in {
		p := &PreparedSession{actor: actors[i], in: in[i]}
		if p.sum, err = memory.HistorySum(actors[i].Workspace, in[i].Messages); err != nil {
			return nil, err
		}
		p.chunks = memory.Chunks(in[i].Messages, llm.EstimateTokens)
		texts = append(texts, p.scan()...)
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, nil
	}
	vectors := l.embed(ctx, actors[0], distinct(texts))
	for _, p := range out {
		p.vectors = vectors
	}
	return out, nil
}

// scan normalizes and scans the changes, and returns the texts to embed.
func (p *PreparedSession) scan() (texts []string) {
	texts, p.risky, p.refused = examineChanges(p.in.Updates)
	if p.indexed() {
		for _, c := range p.chunks {
			texts = append(texts, c.Text)
		}
	}
	t := memory.Type(p.actor.Subject.Type)
	for _, m := range p.in.Inserts {
		one := examine(m, t)
		if one.refused == nil {
			texts = append(texts, one.Content)
		}
		p.inserts = append(p.inserts, one)
	}
	for _, text := range []string{p.in.Digest, p.in.Fallback} {
		m := NewMemory{Content: text}
		risky, refused := checkNew(&m, memory.Summary)
		if refused != nil {
			p.fallback = p.fallback || len(p.digests) == 0
			continue
		}
		p.digests = append(p.digests, digest{m.Content, risky})
	}
	if len(p.digests) > 0 {
		p.digests = p.digests[:1]
		texts = append(texts, p.digests[0].content)
	}
	return texts
}

// ApplySessions stores sessions and applies their changes in the caller's transaction: of each, its
// deletes, then its updates, its inserts and its summary. Each happens once under the operation of its
// actor. Call it once per transaction.
func (l *LongTermService) ApplySessions(ctx context.Context, tx store.Tx, all []*PreparedSession) (out []SessionResult,
	err error) {
	if len(all) == 0 {
		return nil, nil
	}
	var parts []index.Doc
	var dirty []memory.Entry
	within := func(ctx context.Context, _ int64, fn func(context.Context, store.Tx) error) error { return fn(ctx, tx) }
	for _, p := range all {
		one, err := Once(ctx, within, p.actor, "remember_session", p.in,
			func(ctx context.Context, tx store.Tx) (SessionResult, error) {
				g := &writing{LongTermService: l, tx: tx, a: p.actor, w: WriterFor(p.actor).With(p.vectors)}
				g.w.Author, g.w.Dated, g.dirty = p.actor.Subject.Author, true, dirty
				r, docs, err := g.remember(ctx, p)
				parts, dirty = append(parts, docs...), g.dirty
				return r, err
			})
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, tx.LongTerm().IndexSession(ctx, parts, dirty, memory.Writer{}.With(all[0].vectors))
}

// remember stores one session with its changes. It returns the parts of the session, which are not
// indexed yet.
func (g *writing) remember(ctx context.Context, p *PreparedSession) (out SessionResult, parts []index.Doc, err error) {
	parts, fresh, err := g.keepHistory(ctx, p)
	if err != nil {
		return out, nil, err
	}
	out.History = g.a.Subject.History
	t, err := subject(g.a)
	if err != nil {
		return out, nil, err
	}
	if _, fixed := memory.FixedTarget(t.Type); !fixed {
		if t, out.New, err = g.target(ctx, t, true); err != nil {
			return out, nil, err
		}
	}
	s := t.Scope()
	g.here = &s
	if err := g.edit(ctx, p.in.Deletes, p.in.Updates, p.refused, p.risky); err != nil {
		return out, nil, err
	}
	if len(p.digests) > 0 && fresh { // the session has no summary yet: it is stored with the facts
		g.along = &memory.Entry{Type: memory.Summary, Content: p.digests[0].content, Targets: []string{s.Name()},
			Author: g.w.Author, Tainted: g.w.Tainted, Status: g.status(p.digests[0].risky)}
	}
	summary := g.along
	if err := g.insertAll(ctx, s, p.inserts); err != nil {
		return out, nil, err
	}
	out.Items = g.items
	switch {
	case len(p.digests) == 0:
	case summary != nil:
		out.Fallback = p.fallback
		if summary.Key != 0 {
			out.Digest = summary.ID
		}
	default:
		m := NewMemory{Content: p.digests[0].content}
		item, err := g.summarize(ctx, m, []string{s.Name()}, p.digests[0].risky)
		if err != nil && !isItemError(err) {
			return out, nil, fmt.Errorf("store the summary: %w", err)
		}
		out.Digest, out.Fallback = item.ID, p.fallback
	}
	return out, parts, nil
}

// keepHistory stores the session of the call, unless it is stored. It returns the parts to index.
func (g *writing) keepHistory(ctx context.Context, p *PreparedSession) (parts []index.Doc, fresh bool, err error) {
	known, found, err := g.tx.Histories().HistoryBySum(ctx, p.sum)
	if err != nil {
		return nil, false, err
	}
	if !found {
		messages, tokens := p.in.Messages, 0
		for _, c := range p.chunks {
			tokens += c.Tokens
		}
		known = memory.History{SHA: p.sum, Conversation: g.a.Conversation, FromSeq: messages[0].Seq,
			ToSeq: messages[len(messages)-1].Seq, Messages: len(messages), Tokens: tokens, Author: g.w.Author}
		if parts, err = g.tx.Histories().StoreHistory(ctx, &known, p.chunks, g.w); err != nil {
			return nil, false, err
		}
	}
	if !p.indexed() {
		parts = nil
	}
	g.a.Subject.History = known.ID
	return parts, !found, nil
}

// insertAll adds memories to a scope. One that repeats a memory by meaning is not added.
func (g *writing) insertAll(ctx context.Context, s memory.Scope, all []addition) error {
	var fresh []addition
	for _, m := range all {
		m.scope = s
		if m.refused == nil {
			same, found, err := g.meaning(ctx, s, m.Content)
			if err != nil {
				return err
			}
			if found {
				if err := g.addResult(m.Index, ItemResult{ID: same.ID, Status: AlreadyExists},
					g.refer(ctx, same.Key)); err != nil {
					return err
				}
				continue
			}
		}
		fresh = append(fresh, m)
	}
	if len(fresh) > 0 {
		return g.addAll(ctx, fresh)
	}
	if g.along == nil {
		return nil
	}
	if err := g.create(ctx); err != nil {
		return err
	}
	return g.refer(ctx, g.with()...)
}

// Subject is the scope of a subject with some of its memories.
type Subject struct {
	Scope    memory.Scope
	Memories []memory.Entry // in the order of creation
	More     bool           // there are others
	Alike    []string       // IDs of other subjects with the same folded form
}

// SubjectMemories reads up to most memories of the actor's subject, which may be unknown.
func (l *LongTermService) SubjectMemories(ctx context.Context, tx store.Tx, a agent.Actor, most int) (out Subject,
	err error) {
	g := &writing{LongTermService: l, tx: tx, a: a}
	if out.Scope, err = g.scope(ctx, false); err != nil {
		return out, err
	}
	if out.Memories, err = tx.LongTerm().OfScope(ctx, out.Scope, most+1); err != nil {
		return out, err
	}
	if out.More = len(out.Memories) > most; out.More {
		out.Memories = out.Memories[:most]
	}
	t := memory.Target{Type: out.Scope.Type, Key: out.Scope.Target}
	alike, err := tx.Targets().TargetsAlike(ctx, t, nil)
	for _, other := range alike {
		if other.Key != t.Key {
			out.Alike = append(out.Alike, other.Key)
		}
	}
	return out, err
}

// parseTimes are the forms in which models write times.
var parseTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04", time.DateOnly, "2006-01", "2006"}

// ParseEventTime reads a time as models write it. It returns nil for what is no time.
func ParseEventTime(text string) *time.Time {
	for _, layout := range parseTimes {
		if t, err := time.Parse(layout, text); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			t = t.UTC()
			return &t
		}
	}
	return nil
}
