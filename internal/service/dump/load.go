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
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store    store.Dumps
	Embedder search.Embedder
	Model    string // current embedding model
	Dims     int
	Space    int16
	Spaces   search.Spaces // nil if Embedder and Space serve all workspaces
}

// Service writes and loads dumps.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
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
	Existing      int `json:"existing"`    // of all kinds, in the file and in the workspace; unchanged
	Ignored       int `json:"ignored"`     // lines of other programs that are not memories
	Quarantined   int `json:"quarantined"` // contain a secret or an injection attempt; never shown to a model
	Embedding     int `json:"embedding"`   // get their vectors after the load, in the background

	Signature string `json:"signature" enum:"verified,unsigned,invalid" doc:"verified: this deployment has written the file, and origins are kept. Otherwise, everything has the origin import, and texts with findings are quarantined"`
}

func (r *LoadResult) add(o LoadResult) {
	r.Memories += o.Memories
	r.Targets += o.Targets
	r.Conversations += o.Conversations
	r.Messages += o.Messages
	r.Histories += o.Histories
	r.Identities += o.Identities
	r.Souls += o.Souls
	r.Existing += o.Existing
	r.Ignored += o.Ignored
	r.Quarantined += o.Quarantined
	r.Embedding += o.Embedding
}

// Load imports a file into the actor's workspace. It checks the whole file before it writes the
// first row. Then it writes in transactions of at most 500 memories. An interrupted load continues
// when it is repeated. A load with the same operation ID is done once.
func (s *Service) Load(ctx context.Context, a agent.Actor, from io.Reader) (out LoadResult, err error) {
	return s.load(ctx, a, from, func(sum string) importing {
		return importing{args: map[string]string{"call": "load", "sha256": sum},
			act: audit.MemoriesLoad, object: "file with SHA-256 " + sum}
	})
}

// importing is what distinguishes loads from copies.
type importing struct {
	args    map[string]string // identify the operation
	act     audit.Action
	object  string
	allowed func(ctx context.Context) error // called before the first row is written; nil for a load
}

// load is Load for what the hash of the file is about.
func (s *Service) load(ctx context.Context, a agent.Actor, from io.Reader,
	about func(sum string) importing) (out LoadResult, err error) {
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
	signed, err := s.signing(ctx)
	if err != nil {
		return out, err
	}
	known, err := check(file, signed)
	if err != nil {
		return out, err
	}
	if err := again(); err != nil {
		return out, err
	}
	l := &loading{Service: s, checked: known, importing: about(hex.EncodeToString(sum.Sum(nil))), ws: a.Workspace,
		op: a.Op, from: newReader(file), renamed: map[string]string{}}
	return l.run(ctx)
}

// CopySource is the workspace that a copy reads.
type CopySource struct {
	Workspace int64
	Key       int64 // whose holder allows it; 0 without a key, for the command line
}

// Copy loads the memories of another workspace into the actor's workspace. A copy with the same
// operation ID is done once, even if the other workspace changes.
func (s *Service) Copy(ctx context.Context, from CopySource, a agent.Actor) (LoadResult, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.dump(ctx, from.Workspace, w, Options{Vectors: true})) }()
	out, err := s.load(ctx, a, r, func(string) importing {
		return importing{args: map[string]string{"call": "copy", "from": strconv.FormatInt(from.Workspace, 10)},
			act: audit.MemoriesCopy, object: fmt.Sprintf("from workspace %d", from.Workspace),
			allowed: func(ctx context.Context) error { return s.recordSource(ctx, from, a) }}
	})
	return out, errors.Join(err, r.Close())
}

// recordSource records a copy in its source, once, as an act of the key that allowed it.
func (s *Service) recordSource(ctx context.Context, from CopySource, a agent.Actor) error {
	if from.Key != 0 {
		ctx = audit.WithKey(ctx, audit.Key, from.Key)
	}
	op, object := fmt.Sprintf("copy/%d/%s", a.Workspace, a.Op), fmt.Sprintf("to workspace %d", a.Workspace)
	return s.Store.InWorkspace(ctx, from.Workspace, func(ctx context.Context, of store.Tx) error {
		var done struct{}
		return of.Operations().Do(ctx, op, object, &done, func() error {
			return of.Operations().Record(ctx, audit.MemoriesCopy, object)
		})
	})
}
