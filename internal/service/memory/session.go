package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// imported is the channel of sessions that are sent as a whole.
const imported = "import"

// SessionMessages is the maximum number of messages of one session.
const SessionMessages = 5000

// AddHistory stores a list of messages as a session. If the session exists, AddHistory returns it.
// System messages are omitted.
func (l *LongTermService) AddHistory(ctx context.Context, a agent.Actor, messages []transcript.Message) (memory.History,
	error) {
	filtered := memory.Dialogue(messages)
	for i := range filtered {
		filtered[i].Seq = i
	}
	return l.addHistory(ctx, a, filtered, func(tx store.Tx, sum [32]byte) (int64, error) {
		return tx.Transcripts().PutConversation(ctx,
			transcript.Conversation{ID: "session/" + memory.HistoryID(sum, 0), Messages: filtered}, imported)
	})
}

// AddRange stores a part of a conversation as a session. The messages are not copied.
func (l *LongTermService) AddRange(ctx context.Context, a agent.Actor, in memory.Evidence) (memory.History, error) {
	var c transcript.Conversation
	err := l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = tx.Transcripts().Conversation(ctx, in.Conversation, in.FromSeq, in.ToSeq)
		return err
	})
	if err != nil {
		return memory.History{}, fmt.Errorf("add_history_memory: %w", err)
	}
	return l.addHistory(ctx, a, memory.Dialogue(c.Messages), func(store.Tx, [32]byte) (int64, error) {
		return in.Conversation, nil
	})
}

func (l *LongTermService) addHistory(ctx context.Context, a agent.Actor, messages []transcript.Message,
	keep func(store.Tx, [32]byte) (int64, error)) (memory.History, error) {
	switch n := len(messages); {
	case n == 0:
		return memory.History{}, fault.New(fault.InvalidArgument,
			"session has no user, assistant or tool messages", "send at least one message")
	case n > SessionMessages:
		return memory.History{}, fault.New(fault.TooLarge,
			fmt.Sprintf("session has %d messages, want at most %d", n, SessionMessages),
			"split it into several sessions")
	}
	sum, err := memory.HistorySum(a.Workspace, messages)
	if err != nil {
		return memory.History{}, err
	}
	chunks := memory.Chunks(messages, llm.EstimateTokens)
	var texts []string
	tokens := 0
	for _, c := range chunks {
		texts, tokens = append(texts, c.Text), tokens+c.Tokens
	}
	args := struct {
		SHA [32]byte `json:"sha256"`
	}{sum}
	w := WriterFor(a).With(l.embed(ctx, a, distinct(texts)))
	w.Author = a.Subject.Author
	return Once(ctx, l.Store.InWorkspace, a, "add_history_memory", args,
		func(ctx context.Context, tx store.Tx) (memory.History, error) {
			if known, found, err := tx.Histories().HistoryBySum(ctx, sum); err != nil || found {
				return known, err
			}
			conversation, err := keep(tx, sum)
			if err != nil {
				return memory.History{}, err
			}
			h := memory.History{SHA: sum, Conversation: conversation, FromSeq: messages[0].Seq,
				ToSeq:    messages[len(messages)-1].Seq,
				Messages: len(messages), Tokens: tokens, Author: w.Author}
			err = tx.Histories().PutHistory(ctx, &h, chunks, w)
			return h, err
		})
}

// ReadArgs selects sessions, and parts of them.
type ReadArgs struct {
	IDs       []string // of sessions, or of memories that were extracted from one
	Query     string   // return the chunks that match; empty for the text from Offset on
	MaxTokens int      // per session; 0 means 4,000
	Offset    int      // in characters of the transcript; use the NextOffset of the previous page
}

// Limits of reading sessions.
const (
	ReadSessions     = 3
	usualTokens      = 4000
	MaxSessionTokens = 16_000
	foundChunks      = 5
	minOfChunks      = 100
)

// Session is a transcript or a part of one.
type Session struct {
	ItemResult
	Text       string `json:"text,omitempty"`
	NextOffset int    `json:"next_offset,omitempty" jsonschema:"offset of the next page; absent on the last page"`
}

// ReadHistory reads transcripts, either by page or the chunks that match a query.
func (l *LongTermService) ReadHistory(ctx context.Context, a agent.Actor, in ReadArgs) (out []Session, err error) {
	if in.MaxTokens == 0 {
		in.MaxTokens = usualTokens
	}
	if n := len(in.IDs); n == 0 || n > ReadSessions {
		return nil, fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("call has %d session IDs, want 1 to %d", n, ReadSessions),
			"split the IDs over several calls",
		)
	}
	if in.MaxTokens < minOfChunks || in.MaxTokens > MaxSessionTokens || in.Offset < 0 ||
		utf8.RuneCountInString(in.Query) > QueryRunes {
		return nil, fault.New(fault.InvalidArgument, "max_tokens, offset or query is out of range",
			fmt.Sprintf("max_tokens is %d to %d, offset is not below 0, a query has at most %d characters",
				minOfChunks, MaxSessionTokens, QueryRunes))
	}
	var vector search.Vector
	if in.Query != "" {
		vector = search.VectorOf(ctx, l.spaces(), a.Workspace, in.Query)
	}
	var items []ItemResult
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		for i, id := range in.IDs {
			s, err := l.read(ctx, tx, a, in, strings.ToLower(strings.TrimSpace(id)), vector)
			if err != nil && !isItemError(err) {
				return err
			}
			if err != nil {
				s = Session{ItemResult: FailedItem(i, err)}
				s.ID = id
			}
			s.Index = i
			out, items = append(out, s), append(items, s.ItemResult)
		}
		return AllFailed(items)
	})
	if err != nil {
		return nil, fmt.Errorf("read_history_memory: %w", err)
	}
	return out, nil
}

func (l *LongTermService) read(
	ctx context.Context,
	tx store.Tx,
	a agent.Actor,
	in ReadArgs,
	id string,
	vector search.Vector,
) (Session,
	error) {
	h, err := l.session(ctx, tx, id)
	if err != nil {
		return Session{}, err
	}
	c, err := tx.Transcripts().Conversation(ctx, h.Conversation, h.FromSeq, h.ToSeq)
	if err != nil {
		return Session{}, err
	}
	out := Session{ItemResult: ItemResult{ID: h.ID, Status: "read"}}
	if in.Query == "" {
		out.Text, out.NextOffset = memory.Page(memory.RenderedAll(c.Messages), in.Offset, in.MaxTokens,
			llm.EstimateTokens)
	} else {
		chunks, err := tx.Histories().RankChunks(ctx, h.ID, in.Query, vector.Values, vector.Space)
		if err != nil {
			return Session{}, err
		}
		out.Text = best(chunks, c.Messages, in.MaxTokens)
	}
	if a.Origin != agent.OriginUser {
		out.Text = Sanitize("session", h.ID, out.Text)
	}
	return out, nil
}

// best renders the best chunks that fit, in the order of the transcript.
func best(chunks []memory.Chunk, messages []transcript.Message, tokens int) string {
	var taken []memory.Chunk
	for _, c := range chunks {
		if len(taken) == 0 || len(taken) < foundChunks && c.Tokens <= tokens {
			taken = append(taken, c)
			tokens -= c.Tokens
		}
	}
	slices.SortFunc(taken, func(a, b memory.Chunk) int { return a.FromSeq - b.FromSeq })
	var b strings.Builder
	for i, c := range taken {
		if i > 0 && taken[i-1].Number+1 < c.Number {
			b.WriteString("[…]\n")
		}
		part := slices.DeleteFunc(slices.Clone(messages), func(m transcript.Message) bool {
			return m.Seq < c.FromSeq || m.Seq > c.ToSeq
		})
		text := memory.RenderedAll(part)
		if tokens < 0 { // a single chunk that is longer than the limit
			text, _ = memory.Page(text, 0, tokens+c.Tokens, llm.EstimateTokens)
		}
		b.WriteString(text)
	}
	return b.String()
}

// session returns the session with an ID, or the latest session of the memory with that ID.
func (l *LongTermService) session(ctx context.Context, tx store.Tx, id string) (memory.History, error) {
	h, found, err := tx.Histories().History(ctx, id)
	if err != nil || found {
		return h, err
	}
	entries, err := tx.LongTerm().LongTerm(ctx, []string{id})
	if err != nil {
		return h, err
	}
	if len(entries) == 1 && slices.Contains(memory.LongTermTypes, entries[0].Type) {
		if n := len(entries[0].Histories); n > 0 {
			h, found, err = tx.Histories().History(ctx, entries[0].Histories[n-1])
			if err != nil || found {
				return h, err
			}
		}
		return h, fault.New(fault.NotFound, fmt.Sprintf("memory %s has no session", id), "use the memory itself")
	}
	return h, fault.New(fault.NotFound, fmt.Sprintf("session %q not found", id), "use the ref_memory_id of a memory")
}
