package dump

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/ports"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/search"
)

// IndexedEntry is a memory to index, with its vector if it has one.
type IndexedEntry struct {
	Entry  memory.Entry
	Vector []float32
}

// Store opens snapshots to dump and transactions to load.
type Store interface {
	WithSnapshot(ctx context.Context, ws int64, fn func(context.Context, Source) error) error
	WithLoad(ctx context.Context, ws int64, fn func(context.Context, Destination) error) error
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    Store
	Embedder memorywrite.Embedder
	Model    string // current embedding model
	Dims     int
	Space    int16
	Spaces   search.Spaces // nil if Embedder and Space serve all workspaces
}

// Service writes and loads dumps.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("dump", map[string]any{"Store": p.Store, "Embedder": p.Embedder})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// LoadResult counts the loaded objects.
type LoadResult struct {
	Memories      int `json:"memories"`
	Targets       int `json:"targets"`
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Histories     int `json:"histories"`
	Identities    int `json:"identity_versions"`
	Souls         int `json:"soul_versions"`
	Skipped       int `json:"skipped"`     // existing, or not a memory
	Quarantined   int `json:"quarantined"` // contain a secret or an injection attempt; never shown to a model
	Embedding     int `json:"embedding"`   // get their vectors after the load, in the background
}

func (r *LoadResult) add(o LoadResult) {
	r.Memories += o.Memories
	r.Targets += o.Targets
	r.Conversations += o.Conversations
	r.Messages += o.Messages
	r.Histories += o.Histories
	r.Identities += o.Identities
	r.Souls += o.Souls
	r.Skipped += o.Skipped
	r.Quarantined += o.Quarantined
	r.Embedding += o.Embedding
}

// Load imports a file into the actor's workspace. It checks the whole file before it writes the
// first row. Then it writes in transactions of at most 500 memories. An interrupted load continues
// when it is repeated. A load with the same operation ID is done once.
func (s *Service) Load(ctx context.Context, a agent.Actor, from io.Reader) (out LoadResult, err error) {
	return s.load(ctx, a, from, func(sum string) map[string]string {
		return map[string]string{"call": "load", "sha256": sum}
	})
}

// load is Load with the arguments that identify the operation.
func (s *Service) load(ctx context.Context, a agent.Actor, from io.Reader,
	args func(sum string) map[string]string) (out LoadResult, err error) {
	if a.Origin != agent.OriginUser {
		return out, fault.New(fault.OutOfScope, "only a user can load a dump", "ask the user to load the dump")
	}
	file, err := os.CreateTemp("", "cairn-load-*")
	if err != nil {
		return out, fmt.Errorf("create a temporary file: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}()
	sum := sha256.New()
	if _, err := io.Copy(file, io.TeeReader(from, sum)); err != nil {
		return out, fmt.Errorf("read the file: %w", err)
	}
	again := func() error { _, err := file.Seek(0, io.SeekStart); return err }
	if err := again(); err != nil {
		return out, err
	}
	known, err := check(file)
	if err != nil {
		return out, err
	}
	if err := again(); err != nil {
		return out, err
	}
	l := &loading{Service: s, checked: known, ws: a.Workspace, op: a.Op, from: newReader(file),
		renamed: map[string]string{}}
	return l.run(ctx, args(hex.EncodeToString(sum.Sum(nil))))
}

// Copy loads the memories of another workspace into the actor's workspace. A copy with the same
// operation ID is done once, even if the other workspace changes.
func (s *Service) Copy(ctx context.Context, from int64, a agent.Actor) (LoadResult, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.Dump(ctx, from, w, Options{Vectors: true})) }()
	out, err := s.load(ctx, a, r, func(string) map[string]string {
		return map[string]string{"call": "copy", "from": strconv.FormatInt(from, 10)}
	})
	return out, errors.Join(err, r.Close())
}
