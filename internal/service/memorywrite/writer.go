package memorywrite

import (
	"context"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
)

// Writer describes the origin of a write and the data that is stored with it.
type Writer struct {
	Origin   string
	Person   bool // a user made or approved the write, which clears the taint
	Tainted  bool
	Run      string // "" outside a run
	Op       string
	Evidence *memory.Evidence
	Vectors  map[string][]float32 // by text; missing vectors are added later
	Space    int16                // of the vectors
	Author   string               // of long-term memories: model@prompt-hash
	Decision string               // memory skill decision that led to the write; may be empty

	// Dated means that named event times are kept, because the prompt has asked for those of the text.
	Dated bool
	// ValidUntil is until when the previous version was valid, if the write ends it.
	ValidUntil *time.Time
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder searches the documents of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// WriterFor returns the Writer for an actor, without vectors.
func WriterFor(a agent.Actor) Writer {
	person := a.Origin == agent.OriginUser
	w := Writer{Origin: string(a.Origin), Person: person, Tainted: a.Tainted && !person, Run: a.Run, Op: a.Op}
	if a.Conversation != 0 {
		w.Evidence = &memory.Evidence{Conversation: a.Conversation, FromSeq: a.FromSeq, ToSeq: a.ToSeq}
	}
	return w
}

// Embedded holds vectors of one space.
type Embedded struct {
	Vectors map[string][]float32 // by text
	Space   int16
}

// With returns w with vectors.
func (w Writer) With(e Embedded) Writer {
	w.Vectors, w.Space = e.Vectors, e.Space
	return w
}

// Embed returns the vector of each text in the space that a workspace uses. If embedding fails, it
// returns none; an outbox task embeds the texts later.
func Embed(ctx context.Context, s search.Spaces, ws int64, texts []string) Embedded {
	if len(texts) == 0 {
		return Embedded{}
	}
	used, err := s.Of(ctx, ws)
	if err != nil {
		return Embedded{}
	}
	vs, err := used.Embedder.Embed(ctx, texts)
	if err != nil || len(vs) != len(texts) {
		return Embedded{}
	}
	out := Embedded{Vectors: map[string][]float32{}, Space: used.ID}
	for i, text := range texts {
		out.Vectors[text] = vs[i]
	}
	return out
}
