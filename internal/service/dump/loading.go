package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// loading is the state of one load. A load has parts: what memories refer to, batches of memories,
// and documents. Each part is a transaction and an operation of its own.
type loading struct {
	*Service
	checked
	importing
	ws       int64
	op       string
	from     *reader
	renamed  map[string]string // IDs of existing sessions by their ID in the file
	out      LoadResult        // of the parts that are done
	dark     bool              // the embedder failed, so the rest is embedded in the background
	recorded bool              // a part is done: the first one has recorded the act
}

// partResult is what a part stores for a repetition of the load.
type partResult struct {
	LoadResult
	Renamed map[string]string `json:"renamed,omitempty"`
}

// run loads the parts that are not done. The load itself is the operation of the last part.
func (l *loading) run(ctx context.Context) (LoadResult, error) {
	var out LoadResult
	if done, err := l.logged(ctx, l.op, l.args, &out); done || err != nil {
		return out, err
	}
	if l.allowed != nil {
		if err := l.allowed(ctx); err != nil {
			return out, err
		}
	}
	if !l.legacy {
		if err := l.references(ctx); err != nil {
			return LoadResult{}, err
		}
	}
	for {
		b, err := l.batch()
		if err == nil && len(b.memories)+b.ignored > 0 {
			err = l.memories(ctx, b)
		}
		if err != nil {
			return LoadResult{}, err
		}
		if !b.full() {
			break
		}
	}
	err := l.Store.InWorkspace(ctx, l.ws, func(ctx context.Context, to store.Tx) error {
		return to.Operations().Do(ctx, l.op, l.args, &out, func() error {
			if err := l.begin(ctx, to); err != nil {
				return err
			}
			out = l.out
			out.Signature = l.signed
			return l.documents(ctx, to, &out)
		})
	})
	if err != nil {
		return LoadResult{}, err
	}
	return out, nil
}

// begin locks the memories. In the first part, it also records the act: an interrupted load has
// written data.
func (l *loading) begin(ctx context.Context, to store.Tx) error {
	if err := to.Load().LockMemories(ctx); err != nil || l.recorded {
		return err
	}
	return to.Operations().Record(ctx, l.act, l.object)
}

// logged reads the result of an operation that was done before.
func (l *loading) logged(ctx context.Context, op string, args, result any) (done bool, err error) {
	var raw json.RawMessage
	err = l.Store.InWorkspace(ctx, l.ws, func(ctx context.Context, to store.Tx) error {
		raw, done, err = to.Operations().Logged(ctx, op, args)
		return err
	})
	if err == nil && done {
		err = json.Unmarshal(raw, result)
	}
	return done, err
}

// part runs one part once.
func (l *loading) part(ctx context.Context, name string, effect func(context.Context, store.Tx,
	*partResult) error) error {
	var done partResult
	err := l.Store.InWorkspace(ctx, l.ws, func(ctx context.Context, to store.Tx) error {
		return to.Operations().Do(ctx, l.op+"/"+name, name, &done, func() error {
			if err := l.begin(ctx, to); err != nil {
				return err
			}
			return effect(ctx, to, &done)
		})
	})
	if err == nil {
		l.recorded = true
		l.out.add(done.LoadResult)
		maps.Copy(l.renamed, done.Renamed)
	}
	return err
}

// references loads what memories refer to: targets, conversations and sessions. These can conflict
// with what the workspace has. Then no memory is loaded.
func (l *loading) references(ctx context.Context) error {
	err := l.part(ctx, "references", func(ctx context.Context, to store.Tx, out *partResult) error {
		r := &referring{to: to, ws: l.ws, op: l.op, out: out, foreign: l.signed != Verified}
		out.Renamed = map[string]string{}
		for l.from.next() {
			kind, err := kindOf(l.from.line())
			if err != nil {
				return dumpfile.Wrong(l.from.n, "%v", err)
			}
			if part(kind) > 0 || kind == KindEnd {
				l.from.unread()
				break
			}
			if err := r.line(ctx, l.from.n, kind, l.from.line()); err != nil {
				return err
			}
		}
		return errors.Join(l.from.err(), r.flush(ctx))
	})
	for err == nil && l.from.next() { // the part was done before
		var kind string
		if kind, err = kindOf(l.from.line()); part(kind) > 0 || kind == KindEnd {
			l.from.unread()
			break
		}
	}
	return err
}

// referring loads targets, conversations and sessions.
type referring struct {
	to  store.Tx
	ws  int64
	op  string
	out *partResult

	foreign bool // the file has no valid signature

	targets      []dumpfile.Target
	conversation int64 // conversation whose messages follow
	kept         bool  // the conversation exists; its messages are compared
	messages     []transcript.Message
	left         int
}

func (r *referring) line(ctx context.Context, n int, kind string, raw []byte) error {
	o, known, err := decode(kind, raw)
	if err != nil || !known { // the header
		return err
	}
	switch {
	case o.Target != nil:
		t := o.Target.Exact()
		if r.foreign && dumpfile.Suspicious(guard.Caution, t.Description) {
			t.Description = ""
		}
		if r.targets = append(r.targets, t); len(r.targets) == batchRows {
			err = r.flush(ctx)
		}
	case o.Conversation != nil:
		c := *o.Conversation
		if r.foreign {
			c = c.Distrust()
		}
		err = r.open(ctx, c)
	case o.Message != nil:
		err = r.message(ctx, o.Message.Message())
	case o.History != nil:
		err = r.history(ctx, *o.History)
	}
	if err == nil {
		return nil
	}
	if f := fault.From(err); f.Code != fault.Internal && !fault.Table[f.Code].Retryable {
		return fault.Wrap(err, f.Code, fmt.Sprintf("nothing was loaded: line %d is invalid", n), f.Hint)
	}
	return fmt.Errorf("load line %d: %w", n, err)
}

func (r *referring) flush(ctx context.Context) error {
	made, err := r.to.Load().LoadTargets(ctx, r.targets)
	r.out.Targets += made
	r.out.Existing += len(r.targets) - made
	r.targets = nil
	return err
}

func (r *referring) open(ctx context.Context, c dumpfile.Conversation) error {
	id, has, err := r.to.Load().LoadConversation(ctx, c)
	if err != nil {
		return err
	}
	if has != 0 && has < c.Messages {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("conversation %q already exists with %d messages, the file has %d", c.ID, has, c.Messages),
			"load it into another workspace")
	}
	r.conversation, r.kept, r.left, r.messages = id, has != 0, c.Messages, nil
	count(&r.out.LoadResult, &r.out.Conversations, !r.kept)
	return nil
}

func (r *referring) message(ctx context.Context, m transcript.Message) error {
	r.messages = append(r.messages, m)
	if r.left--; r.left > 0 && len(r.messages) < page {
		return nil
	}
	some := r.messages
	r.messages = nil
	if !r.kept {
		r.out.Messages += len(some)
		return r.to.Dump().LoadMessages(ctx, r.conversation, some[0].Seq, some)
	}
	there, err := r.to.Transcripts().Conversation(ctx, r.conversation, some[0].Seq, some[len(some)-1].Seq)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(there.Messages, some, func(a, b transcript.Message) bool {
		return a.Role == b.Role && a.Content == b.Content
	}) {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("conversation %q already exists with other messages", there.ID),
			"load it into another workspace")
	}
	return nil
}

// history finds an existing session with the same messages, or stores the session under its ID in the file.
func (r *referring) history(ctx context.Context, h dumpfile.History) error {
	found, err := r.to.Load().FindConversations(ctx, []string{h.Range.Conversation})
	id := found[h.Range.Conversation]
	if err != nil || id == 0 {
		return errors.Join(err, fault.New(fault.InvalidArgument,
			fmt.Sprintf("session %s refers to conversation %q, which is not in the file", h.ID, h.Range.Conversation),
			""))
	}
	c, err := r.to.Transcripts().Conversation(ctx, id, h.Range.FromSeq, h.Range.ToSeq)
	if err != nil {
		return err
	}
	said := memory.Dialogue(c.Messages)
	sum, err := memory.HistorySum(r.ws, said)
	if err != nil {
		return err
	}
	known, same, err := r.to.Histories().HistoryBySum(ctx, sum)
	if err != nil {
		return err
	}
	count(&r.out.LoadResult, &r.out.Histories, !same)
	if same {
		r.rename(h.ID, known.ID)
		return nil
	}
	chunks := memory.Chunks(said, llm.EstimateTokens)
	if r.foreign {
		h.Author = ""
	}
	made := memory.History{SHA: sum, Conversation: id, FromSeq: h.Range.FromSeq, ToSeq: h.Range.ToSeq,
		Messages: len(said), Author: h.Author, CreatedAt: h.CreatedAt}
	for _, chunk := range chunks {
		made.Tokens += chunk.Tokens
	}
	if err := r.to.Load().LoadHistory(ctx, &made, h.ID, chunks, r.op); err != nil {
		return err
	}
	r.rename(h.ID, made.ID)
	r.out.Embedding += len(chunks)
	return nil
}

func (r *referring) rename(old, id string) {
	if old != id {
		r.out.Renamed[old] = id
	}
}

// count counts a row as made or as existing.
func count(out *LoadResult, what *int, made bool) {
	if made {
		*what++
	} else {
		out.Existing++
	}
}

// session returns the ID of a session of the file in the workspace.
func (l *loading) session(id string) string {
	if other, ok := l.renamed[id]; ok {
		return other
	}
	return id
}

// documents loads the identity and the soul, unless the workspace has versions of them.
func (l *loading) documents(ctx context.Context, to store.Tx, out *LoadResult) error {
	had, heads := map[string]bool{}, map[string]int{}
	for l.from.next() {
		kind, err := kindOf(l.from.line())
		if err != nil || kind == KindEnd {
			return errors.Join(err, setHeads(ctx, to, heads))
		}
		o, _, err := decode(kind, l.from.line())
		if err != nil {
			return err
		}
		d, made := o.Identity, &out.Identities
		if d == nil {
			d, made = o.Soul, &out.Souls
		}
		if _, asked := had[kind]; !asked {
			if had[kind], err = to.Load().HasDocuments(ctx, kind); err != nil {
				return err
			}
		}
		if !had[kind] && l.withheld(d) {
			out.Quarantined++
			continue
		}
		if count(out, made, !had[kind]); had[kind] {
			continue
		}
		d.History = l.session(d.History)
		heads[kind] = max(heads[kind], d.Version)
		if err := to.Load().LoadDocument(ctx, *d, l.op); err != nil {
			return err
		}
	}
	return l.from.err()
}

// withheld reports whether a version of a document is not loaded because of its text: there is no quarantine for
// what is part of every prompt. Without a valid signature, it also replaces the stated writer.
func (l *loading) withheld(d *dumpfile.Document) bool {
	if l.signed == Verified {
		return dumpfile.Suspicious(guard.Dangerous, d.Content)
	}
	d.Origin, d.Author = dumpfile.Imported, ""
	return dumpfile.Suspicious(guard.Caution, d.Content)
}

func setHeads(ctx context.Context, to store.Tx, heads map[string]int) error {
	for _, kind := range []string{dumpfile.KindIdentity, dumpfile.KindSoul} {
		if heads[kind] > 0 {
			if err := to.Load().SetHead(ctx, kind, heads[kind]); err != nil {
				return err
			}
		}
	}
	return nil
}
