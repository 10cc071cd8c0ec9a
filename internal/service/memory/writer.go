package memory

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
)

// WriterFor returns the Writer for an actor, without vectors.
func WriterFor(a agent.Actor) memory.Writer {
	person := a.Origin == agent.OriginUser
	w := memory.Writer{Origin: string(a.Origin), Person: person, Tainted: a.Tainted && !person, Run: a.Run, Op: a.Op}
	if a.Conversation != 0 {
		w.Evidence = &memory.Evidence{Conversation: a.Conversation, FromSeq: a.FromSeq, ToSeq: a.ToSeq}
	}
	return w
}

// Embed returns the vector of each text in the space that a workspace uses. If embedding fails, it
// returns none; an outbox task embeds the texts later.
func Embed(ctx context.Context, s search.Spaces, ws int64, texts []string) memory.Embedded {
	if len(texts) == 0 {
		return memory.Embedded{}
	}
	used, err := s.Of(ctx, ws)
	if err != nil {
		return memory.Embedded{}
	}
	vs, err := used.Embedder.Embed(ctx, texts)
	if err != nil || len(vs) != len(texts) {
		return memory.Embedded{}
	}
	out := memory.Embedded{Vectors: map[string][]float32{}, Space: used.ID}
	for i, text := range texts {
		out.Vectors[text] = vs[i]
	}
	return out
}
