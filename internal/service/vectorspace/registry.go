// Package vectorspace manages embedding spaces: which model serves the vectors of a workspace, and
// the change from one model to another.
//
// Each workspace uses one space. Its documents get their vectors there, and searches compare only
// vectors of that space. A re-embedding builds the vectors of another space while searches use the
// old one, and then changes the workspace's space.
//
//	spaces, err := vectorspace.NewRegistry(vectorspace.RegistryPorts{…})
//	space, err := spaces.Of(ctx, workspace)
//	vectors, err := space.Embedder.Embed(ctx, texts)
package vectorspace

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/search"
)

// Pointers reads which spaces a workspace uses.
type Pointers interface {
	UsedSpaces(ctx context.Context, ws int64) (index.SpaceUse, error)
}

// RegistryPorts are the dependencies of a registry.
type RegistryPorts struct {
	Pointers   Pointers
	Configured index.Space // of the configured model; Serve serves it
	// Serve returns the embedder of a space, if this process has one.
	Serve func(index.Space) (search.Space, bool)
	// Fresh is how long a read pointer is used. A search with the pointer from before a change finds
	// what it found before the change.
	Fresh time.Duration
	Log   *slog.Logger
}

// Registry returns the embedding spaces of workspaces. Its methods are safe for concurrent use.
type Registry struct {
	RegistryPorts
	read   *lru.Cache[int64, pointer] // by workspace
	warned *lru.Cache[int64, int16]   // by workspace: the space that no embedder serves
}

// workspacesKept is the number of workspaces of which something is remembered: those used last.
const workspacesKept = 10_000

type pointer struct {
	space index.Space
	at    time.Time
}

// NewRegistry returns a registry.
func NewRegistry(p RegistryPorts) *Registry {
	read, _ := lru.New[int64, pointer](workspacesKept) // fails only for a size of 0, as the next line
	warned, _ := lru.New[int64, int16](workspacesKept)
	return &Registry{p, read, warned}
}

// Of returns the space that searches of a workspace use. If no embedder serves it, the error is
// fault.Misconfigured.
func (r *Registry) Of(ctx context.Context, ws int64) (search.Space, error) {
	if err := txscope.Reject(ctx); err != nil {
		return search.Space{}, err
	}
	if known, ok := r.read.Get(ws); ok && time.Since(known.at) < r.Fresh {
		return r.serve(ws, known.space)
	}
	used, err := r.Pointers.UsedSpaces(ctx, ws)
	if err != nil {
		return search.Space{}, err
	}
	r.read.Add(ws, pointer{used.Active, time.Now()})
	return r.serve(ws, used.Active)
}

// serve returns the embedder of a workspace's space.
func (r *Registry) serve(ws int64, space index.Space) (search.Space, error) {
	if space.ID == 0 {
		space = r.Configured
	}
	if served, ok := r.Serve(space); ok {
		r.warned.Remove(ws)
		return served, nil
	}
	err := Unserved(space)
	if before, known := r.warned.Get(ws); !known || before != space.ID {
		r.warned.Add(ws, space.ID)
		r.Log.Warn("no embedder serves the vectors of the workspace, searches compare words only",
			"workspace", ws, "error", err, "hint", err.Hint)
	}
	return search.Space{}, err
}

// Unserved is the error for a space that no embedder of this process serves.
func Unserved(s index.Space) *fault.Error {
	return fault.New(fault.Misconfigured,
		fmt.Sprintf("the vectors are of the model %q with %d dimensions, which is not configured", s.Model, s.Dims),
		fmt.Sprintf("run `cairn reembed` to use the configured model, or set CAIRN_EMBEDDING_PREVIOUS_MODEL to %q "+
			"and CAIRN_EMBEDDING_PREVIOUS_DIMENSIONS to %d", s.Model, s.Dims))
}

// Owed returns the space that a workspace uses, 0 for none, and the spaces in which its documents
// need vectors: that one, those that are being built, and the configured one, as far as an embedder
// serves them.
func (r *Registry) Owed(ctx context.Context, ws int64) (active int16, needed []search.Space, err error) {
	used, err := r.Pointers.UsedSpaces(ctx, ws)
	if err != nil {
		return 0, nil, err
	}
	seen := map[int16]bool{0: true}
	for _, s := range append([]index.Space{used.Active, r.Configured}, used.Building...) {
		if served, ok := r.Serve(s); ok && !seen[s.ID] {
			needed = append(needed, served)
		}
		seen[s.ID] = true
	}
	return used.Active.ID, needed, nil
}

// forget makes the next search read the workspace's pointer.
func (r *Registry) forget(ws int64) { r.read.Remove(ws) }
