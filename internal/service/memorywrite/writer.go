package memorywrite

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
)

// Writer is who stands behind a write, and what goes with it.
type Writer struct {
	Origin   string
	Person   bool // somebody stands behind it who has seen what is written, which takes a taint away
	Tainted  bool
	Run      int64 // 0 outside of a run
	Op       string
	Evidence *memory.Evidence
	Vectors  map[string][]float32 // by text; what is missing is embedded later
	Space    int16
	Author   string // of long-term memories: model@prompt-hash
	Decision string // of memory skills, that led to the write
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder is the search of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// WriterFor is who stands behind the writes of an actor.
func WriterFor(a agent.Actor, space int16) Writer {
	person := a.Origin == agent.OriginUser
	w := Writer{Origin: string(a.Origin), Person: person, Tainted: a.Tainted && !person, Run: a.Run, Op: a.Op,
		Space: space}
	if a.Conversation != 0 {
		w.Evidence = &memory.Evidence{Conversation: a.Conversation, FromSeq: a.FromSeq, ToSeq: a.ToSeq}
	}
	return w
}

// Vectors embeds texts. It returns none when that fails: the outbox embeds them later.
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
