package longterm

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
	"cairn/internal/service/memorywrite"
)

// imported is the channel of sessions that are handed in as a whole.
const imported = "import"

// SessionMessages is how many messages one session has at most.
const SessionMessages = 5000

// AddHistory keeps a session that is handed in as a whole, and finds one that
// is kept already. Messages of the system are left out.
func (l *Service) AddHistory(ctx context.Context, a agent.Actor, messages []transcript.Message) (memory.History,
	error) {
	said := memory.Said(messages)
	for i := range said {
		said[i].Seq = i
	}
	return l.addHistory(ctx, a, said, func(tx Tx, sum [32]byte) (int64, error) {
		return tx.Sessions().PutConversation(ctx,
			transcript.Conversation{ID: "session/" + memory.HistoryID(sum, 0), Messages: said}, imported)
	})
}

// AddRange keeps a part of a conversation as a session; its messages stay where
// they are.
func (l *Service) AddRange(ctx context.Context, a agent.Actor, in memory.Evidence) (memory.History, error) {
	var c transcript.Conversation
	err := l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) (err error) {
		c, err = tx.Sessions().Conversation(ctx, in.Conversation, in.FromSeq, in.ToSeq)
		return err
	})
	if err != nil {
		return memory.History{}, fmt.Errorf("add_history_memory: %w", err)
	}
	return l.addHistory(ctx, a, memory.Said(c.Messages), func(Tx, [32]byte) (int64, error) {
		return in.Conversation, nil
	})
}

func (l *Service) addHistory(ctx context.Context, a agent.Actor, said []transcript.Message,
	keep func(Tx, [32]byte) (int64, error)) (memory.History, error) {
	switch n := len(said); {
	case n == 0:
		return memory.History{}, fault.New(fault.InvalidArgument,
			"the session has no messages beside those of the system", "send what was said")
	case n > SessionMessages:
		return memory.History{}, fault.New(fault.TooLarge,
			fmt.Sprintf("the session has %d messages, at most %d are kept as one", n, SessionMessages),
			"send it in parts")
	}
	sum, err := memory.HistorySum(a.Workspace, said)
	if err != nil {
		return memory.History{}, err
	}
	chunks := memory.Chunks(said, llm.EstimateTokens)
	var texts []string
	tokens := 0
	for _, c := range chunks {
		texts, tokens = append(texts, c.Text), tokens+c.Tokens
	}
	args := struct {
		SHA [32]byte `json:"sha256"`
	}{sum}
	w := memorywrite.WriterFor(a, l.Space)
	w.Author, w.Vectors = a.Subject.Author, memorywrite.Vectors(ctx, l.Embedder, distinct(texts))
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "add_history_memory", args,
		func(ctx context.Context, tx Tx) (memory.History, error) {
			if known, found, err := tx.Sessions().HistoryBySum(ctx, sum); err != nil || found {
				return known, err
			}
			conversation, err := keep(tx, sum)
			if err != nil {
				return memory.History{}, err
			}
			h := memory.History{SHA: sum, Conversation: conversation, FromSeq: said[0].Seq,
				ToSeq:    said[len(said)-1].Seq,
				Messages: len(said), Tokens: tokens, Author: w.Author}
			err = tx.Sessions().PutHistory(ctx, &h, chunks, w)
			return h, err
		})
}

// ReadArgs say what of which sessions is wanted.
type ReadArgs struct {
	IDs       []string // of sessions, or of memories that lead to one
	Query     string   // the parts that answer it; empty for all, from Offset on
	MaxTokens int      // of one session; 0 means 4,000
	Offset    int      // in characters of the transcript, as NextOffset told it
}

// Limits of reading.
const (
	ReadSessions  = 3
	usualTokens   = 4000
	MostTokens    = 16_000
	foundChunks   = 5
	leastOfChunks = 100
)

// Session is a transcript, or a part of one.
type Session struct {
	ItemResult
	Text       string `json:"text,omitempty"`
	NextOffset int    `json:"next_offset,omitempty" jsonschema:"where the next page begins; absent after the last"`
}

// ReadHistory reads transcripts, page by page or the parts that answer a query.
func (l *Service) ReadHistory(ctx context.Context, a agent.Actor, in ReadArgs) (out []Session, err error) {
	if in.MaxTokens == 0 {
		in.MaxTokens = usualTokens
	}
	if n := len(in.IDs); n == 0 || n > ReadSessions {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%d sessions are asked for", n),
			fmt.Sprintf("ask for 1 to %d at once", ReadSessions))
	}
	if in.MaxTokens < leastOfChunks || in.MaxTokens > MostTokens || in.Offset < 0 ||
		utf8.RuneCountInString(in.Query) > memorywrite.QueryRunes {
		return nil, fault.New(fault.InvalidArgument, "max_tokens, offset or query is out of bounds",
			fmt.Sprintf("max_tokens is %d to %d, offset is not below 0, a query has at most %d characters",
				leastOfChunks, MostTokens, memorywrite.QueryRunes))
	}
	var vector []float32
	if in.Query != "" {
		vector = memorywrite.Vectors(ctx, l.Embedder, []string{in.Query})[in.Query]
	}
	var items []ItemResult
	err = l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		for i, id := range in.IDs {
			s, err := l.read(ctx, tx, a, in, strings.ToLower(strings.TrimSpace(id)), vector)
			if err != nil && !mine(err) {
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

func (l *Service) read(ctx context.Context, tx Tx, a agent.Actor, in ReadArgs, id string, vector []float32) (Session,
	error) {
	h, err := l.session(ctx, tx, id)
	if err != nil {
		return Session{}, err
	}
	c, err := tx.Sessions().Conversation(ctx, h.Conversation, h.FromSeq, h.ToSeq)
	if err != nil {
		return Session{}, err
	}
	out := Session{ItemResult: ItemResult{ID: h.ID, Status: "read"}}
	if in.Query == "" {
		out.Text, out.NextOffset = memory.Page(memory.RenderedAll(c.Messages), in.Offset, in.MaxTokens,
			llm.EstimateTokens)
	} else {
		chunks, err := tx.Sessions().RankChunks(ctx, h.ID, in.Query, vector, l.Space)
		if err != nil {
			return Session{}, err
		}
		out.Text = best(chunks, c.Messages, in.MaxTokens)
	}
	if a.Origin != agent.OriginUser {
		out.Text = memorywrite.Sanitize("session", h.ID, out.Text)
	}
	return out, nil
}

// best renders the best chunks that fit, in the order in which they were said.
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
		if tokens < 0 { // the one chunk that is longer than what is asked for
			text, _ = memory.Page(text, 0, tokens+c.Tokens, llm.EstimateTokens)
		}
		b.WriteString(text)
	}
	return b.String()
}

// session finds the session of an id, or the latest one that a memory was drawn
// from.
func (l *Service) session(ctx context.Context, tx Tx, id string) (memory.History, error) {
	h, found, err := tx.Sessions().History(ctx, id)
	if err != nil || found {
		return h, err
	}
	entries, err := tx.Memories().LongTerm(ctx, []string{id})
	if err != nil {
		return h, err
	}
	if len(entries) == 1 && slices.Contains(memory.LongTermTypes, entries[0].Type) {
		if n := len(entries[0].Histories); n > 0 {
			h, found, err = tx.Sessions().History(ctx, entries[0].Histories[n-1])
			if err != nil || found {
				return h, err
			}
		}
		return h, fault.New(fault.NotFound, fmt.Sprintf("memory %s leads to no session", id),
			"answer from the memory itself")
	}
	return h, fault.New(fault.NotFound, fmt.Sprintf("there is no session %q", id), "use the ref_memory_id of a memory")
}
