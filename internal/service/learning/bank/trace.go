package bank

import (
	"context"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/store"
)

// Trace is a conversation with questions that have known answers.
type Trace struct {
	Conversation int64
	Lang         string
	Spans        []executor.Span
	Texts        map[int]string // of messages, by sequence number
	Questions    []learning.Case
}

// ReadTrace reads a conversation for episodes. Secrets are removed.
func ReadTrace(ctx context.Context, tx store.Tx, conversation int64, questions []learning.Case,
	how executor.Spanning) (Trace, error) {
	const all = 1 << 30
	c, err := tx.Transcripts().Conversation(ctx, conversation, 0, all)
	if err != nil {
		return Trace{}, err
	}
	said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Said(c.Messages))
	out := Trace{Conversation: conversation, Lang: Language(said), Spans: executor.Spans(said, how),
		Texts: map[int]string{}, Questions: questions}
	for _, m := range said {
		out.Texts[m.Seq] = m.Content
	}
	return out, nil
}

// Evidence returns the texts of the messages that contain the answer of a question.
func (t Trace) Evidence(c learning.Case) (out []string) {
	for _, seq := range c.Evidence {
		if text := t.Texts[seq]; text != "" {
			out = append(out, text)
		}
	}
	return out
}
