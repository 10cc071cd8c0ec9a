package memorywrite

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
)

// Writer describes the origin of a write and the data that is stored with it.
type Writer struct {
	Origin   string
	Person   bool // a user made or approved the write, which clears the taint
	Tainted  bool
	Run      int64 // 0 outside a run
	Op       string
	Evidence *memory.Evidence
	Vectors  map[string][]float32 // by text; missing vectors are added later
	Space    int16
	Author   string // of long-term memories: model@prompt-hash
	Decision string // memory skill decision that led to the write; may be empty
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder searches the documents of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// WriterFor returns the Writer for an actor; space is the embedding space of its vectors.
func WriterFor(a agent.Actor, space int16) Writer {
	person := a.Origin == agent.OriginUser
	w := Writer{Origin: string(a.Origin), Person: person, Tainted: a.Tainted && !person, Run: a.Run, Op: a.Op,
		Space: space}
	if a.Conversation != 0 {
		w.Evidence = &memory.Evidence{Conversation: a.Conversation, FromSeq: a.FromSeq, ToSeq: a.ToSeq}
	}
	return w
}

// Vectors returns the vector of each text. If embedding fails, it returns nil; an outbox task
// embeds the texts later.
func Vectors(ctx context.Context, e Embedder, texts []string) map[string][]float32 {
	if len(texts) == 0 {
		return nil
	}
	vs, err := e.Embed(ctx, texts)
	if err != nil || len(vs) != len(texts) {
		return nil
	}
	out := map[string][]float32{}
	for i, text := range texts {
		out[text] = vs[i]
	}
	return out
}
