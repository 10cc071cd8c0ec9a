package bank

import (
	"context"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/store"
)

// EpisodeTrace is a conversation with questions that have known answers.
type EpisodeTrace struct {
	Conversation int64
	Lang         string
	Spans        []executor.Span
	Texts        map[int]string // of messages, by sequence number
	Questions    []learning.Case
}

// ReadEpisodeTrace reads a conversation for episodes. Secrets are removed.
func ReadEpisodeTrace(ctx context.Context, tx store.Tx, conversation int64, questions []learning.Case,
	how executor.Spanning) (EpisodeTrace, error) {
	const all = 1 << 30
	c, err := tx.Transcripts().Conversation(ctx, conversation, 0, all)
	if err != nil {
		return EpisodeTrace{}, err
	}
	said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Dialogue(c.Messages))
	out := EpisodeTrace{Conversation: conversation, Lang: LanguageOf(said), Spans: executor.Spans(said, how),
		Texts: map[int]string{}, Questions: questions}
	for _, m := range said {
		out.Texts[m.Seq] = m.Content
	}
	return out, nil
}

// Evidence returns the texts of the messages that contain the answer of a question.
func (t EpisodeTrace) Evidence(c learning.Case) (out []string) {
	for _, seq := range c.Evidence {
		if text := t.Texts[seq]; text != "" {
			out = append(out, text)
		}
	}
	return out
}
