package vectorspace

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/store"
)

// States of a re-embedding.
const (
	Completed = "completed"
	Cancelled = "cancelled"
	Failed    = "failed"
)

// Starter controls workflows.
type Starter interface {
	// Reembed starts a re-embedding unless it is running.
	Reembed(ctx context.Context, in contract.ReembedInput) error
	// SteerReembed pauses, resumes or cancels a running one. It returns false if none is running.
	SteerReembed(ctx context.Context, workflowID, action string) (bool, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    store.VectorSpaces
	Registry *Registry
	Starter  Starter // nil without Temporal
	// Graph builds the graph of a workspace in a space if it has the size for one. Nil builds none.
	Graph func(ctx context.Context, ws int64, space int16, documents int) error
	Log   *slog.Logger
}

// Service re-embeds workspaces.
type Service struct{ Ports }

// New returns a service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// Options of a re-embedding.
type Options struct {
	Rate     int  // documents per second; 0 means no limit
	Rollback bool // to the previous space instead of the configured one
}

// MaxRate limits Options.Rate.
const MaxRate = 100_000

// Started is the result of Start.
type Started struct {
	Space   int16  `json:"space"`
	Model   string `json:"model"`
	Dims    int    `json:"dimensions"`
	Running bool   `json:"running" doc:"false if there is nothing to do"`
}

// Start starts the re-embedding of a workspace. If it is running, or if the workspace has all
// vectors and uses them, nothing happens.
func (s *Service) Start(ctx context.Context, ws access.Workspace, o Options) (out Started, err error) {
	if o.Rate < 0 || o.Rate > MaxRate {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid rate %d", o.Rate),
			fmt.Sprintf("use 1 to %d documents per second, or 0 for no limit", MaxRate))
	}
	to, err := s.target(ctx, ws.ID, o.Rollback)
	if err != nil {
		return out, err
	}
	out = Started{Space: to.ID, Model: to.Model, Dims: to.Dims}
	needed, err := s.needed(ctx, ws.ID, to.ID)
	if err != nil || !needed {
		return out, err
	}
	if s.Starter == nil {
		return out, fault.New(fault.Unavailable, "no Temporal server to run the re-embedding", "set TEMPORAL_ADDRESS")
	}
	out.Running = true
	return out, s.Starter.Reembed(ctx, contract.ReembedInput{
		ReembedRef: contract.ReembedRef{Workspace: ws.ID, WorkspaceKey: ws.Key, Space: to.ID}, Rate: o.Rate})
}

// needed reports whether a workspace does not use a space yet, or lacks vectors in it. It returns an
// error if a re-embedding to another space is running.
func (s *Service) needed(ctx context.Context, ws int64, space int16) (needed bool, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := alone(ctx, tx, space); err != nil {
			return err
		}
		size, err := tx.Spaces().Totals(ctx)
		if err != nil {
			return err
		}
		spaces, err := tx.Spaces().Spaces(ctx)
		for _, one := range spaces {
			needed = needed || one.Active && one.ID != space || one.ID == space && one.Vectors < size.Documents
		}
		return err
	})
	return needed, err
}

// target returns the space of a new re-embedding. An embedder serves it.
func (s *Service) target(ctx context.Context, ws int64, rollback bool) (to index.Space, err error) {
	if !rollback {
		return s.Registry.Configured, nil
	}
	found := false
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		to, found, err = tx.Spaces().Previous(ctx)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "the workspace has no previous embedding space",
			"a rollback is possible within 7 days after a re-embedding; to use another model, configure it and run "+
				"`cairn reembed`")
	}
	if err != nil {
		return to, err
	}
	if _, ok := s.Registry.Serve(to); !ok {
		return to, fault.New(fault.Misconfigured,
			fmt.Sprintf("no embedder serves the previous space: model %q with %d dimensions", to.Model, to.Dims),
			fmt.Sprintf("set CAIRN_EMBEDDING_PREVIOUS_MODEL to %q, CAIRN_EMBEDDING_PREVIOUS_DIMENSIONS to %d and "+
				"CAIRN_EMBEDDING_PREVIOUS_BASE_URL to its endpoint, and restart Cairn", to.Model, to.Dims))
	}
	return to, nil
}

// alone returns an error if a re-embedding to another space is running.
func alone(ctx context.Context, tx store.Tx, space int16) error {
	last, found, err := tx.Reembeds().Last(ctx)
	if err != nil || !found || last.Space == space || last.Ended() {
		return err
	}
	return fault.New(fault.AlreadyExists,
		fmt.Sprintf("a re-embedding to model %q is %s", last.Model, last.State),
		"wait for its end, or cancel it with `cairn reembed cancel`")
}

// Each calls do with each workspace, up to the first error.
func (s *Service) Each(ctx context.Context, do func(access.Workspace) error) error {
	for after := int64(0); ; {
		page, err := s.Store.Workspaces(ctx, after, workspacePage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, ws := range page {
			if err := do(ws); err != nil {
				return fmt.Errorf("workspace %q: %w", ws.Name, err)
			}
		}
		after = page[len(page)-1].ID
	}
}

// workspacePage is the number of workspaces that Each reads at once.
const workspacePage = 500

// Steer pauses, resumes or cancels the running re-embedding of a workspace.
func (s *Service) Steer(ctx context.Context, ws access.Workspace, action string) error {
	var last index.ReembedProgress
	var found bool
	err := s.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, tx store.Tx) (err error) {
		last, found, err = tx.Reembeds().Last(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if found && s.Starter != nil {
		found, err = s.Starter.SteerReembed(ctx, contract.ReembedID(ws.Key, last.Space), action)
	}
	if err == nil && !found {
		err = fault.New(fault.NotFound, "no re-embedding is running", "start one with `cairn reembed`")
	}
	return err
}
