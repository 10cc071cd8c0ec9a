package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"cairn/internal/domain/llm"
)

// Recorder is a model that appends its exchanges to a file. A request that was recorded is not sent again.
type Recorder struct {
	llm.Model
	path string

	mu      sync.Mutex
	file    *os.File // nil before the first request
	replies map[string]llm.Reply
	sending map[string]*sync.Mutex // by hash: equal requests wait for each other
}

// NewRecorder returns a recorder of a model. The file at path is opened with the first request.
func NewRecorder(path string, m llm.Model) *Recorder {
	return &Recorder{Model: m, path: path, sending: map[string]*sync.Mutex{}}
}

// Send returns the recorded reply to a request, or sends it and records its reply.
func (r *Recorder) Send(ctx context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	sha := hashOf(p)
	turn, err := r.open(sha)
	if err != nil {
		return llm.Reply{}, err
	}
	turn.Lock()
	defer turn.Unlock()
	if reply, found := r.recorded(sha); found {
		return reply, nil
	}
	reply, err := r.Model.Send(ctx, p)
	if err != nil {
		return reply, err
	}
	return reply, r.record(sha, p, reply)
}

// open opens the file, and returns the lock of a request.
func (r *Recorder) open(sha string) (*sync.Mutex, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		file, old, err := appendTo(r.path)
		if err != nil {
			return nil, &llm.Error{Class: llm.Fatal, Message: "open the recording: " + err.Error(), Cause: err}
		}
		r.file, r.replies = file, old.replies
	}
	if r.sending[sha] == nil {
		r.sending[sha] = &sync.Mutex{}
	}
	return r.sending[sha], nil
}

func (r *Recorder) recorded(sha string) (llm.Reply, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reply, found := r.replies[sha]
	return reply, found
}

// record appends an exchange. An exchange that cannot be written fails the call, because the recording
// would be useless.
func (r *Recorder) record(sha string, p llm.PreparedRequest, reply llm.Reply) error {
	line, err := json.Marshal(exchange{SHA: sha, Model: p.Model, Stage: p.Label.Stage, Reply: reply})
	if err != nil {
		return fmt.Errorf("encode an exchange: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return &llm.Error{Class: llm.Fatal, Message: "write the recording: " + err.Error(), Cause: err, Sent: true}
	}
	r.replies[sha] = reply
	return nil
}
