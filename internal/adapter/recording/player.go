package recording

import (
	"context"
	"fmt"
	"sync"

	"cairn/internal/domain/llm"
)

// Player is a model that replies from a recording. It makes no network request.
type Player struct {
	prepares llm.Model
	read     func() (Recording, error)
}

// NewPlayer returns a player of the file at path, which is read with the first request. Requests are
// rendered by prepares.
func NewPlayer(path string, prepares llm.Model) *Player {
	return &Player{prepares, sync.OnceValues(func() (Recording, error) { return Read(path) })}
}

// Prepare renders a request.
func (p *Player) Prepare(r llm.Request) (llm.PreparedRequest, error) { return p.prepares.Prepare(r) }

// Send returns the recorded reply to a request. If there is none for a request with a schema, it asks
// for the request without it: the recorded endpoint may not have supported schemas.
func (p *Player) Send(_ context.Context, r llm.PreparedRequest) (llm.Reply, error) {
	all, err := p.read()
	if err != nil {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Message: err.Error(), Cause: err}
	}
	sha := hashOf(r)
	if reply, found := all.replies[sha]; found {
		return reply, nil
	}
	missing := &llm.Error{Class: llm.Fatal, Message: fmt.Sprintf(
		"the recording has no reply to request %.12s of stage %q to model %s: it was made with other data, options, "+
			"prompts or embeddings", sha, r.Label.Stage, r.Model)}
	if asksForSchema(r.Body) {
		missing.Class = llm.NoSchema
	}
	return llm.Reply{}, missing
}
