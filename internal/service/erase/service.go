package erase

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
)

// Store is the database. An erasure that has ended has nothing more to delete.
type Store interface {
	ErasureStore
	RowStore
}

// ErasureStore keeps how far erasures are.
type ErasureStore interface {
	PlanErasure(ctx context.Context, t Target) (Plan, error)
	AcceptErasure(ctx context.Context, t Target) (int64, error)
	Erasure(ctx context.Context, id int64) (Erasure, error)
	FenceErasure(ctx context.Context, id int64) error
	NoteErasure(ctx context.Context, id int64, s ExternalCounts) error
	EndErasure(ctx context.Context, id int64) (bool, error)
}

// RowStore deletes what an erasure is about.
type RowStore interface {
	ErasedTables(ctx context.Context) ([]string, error) // those that refer to others first
	EraseRows(ctx context.Context, id int64, table string, most int) (int, error)
	EraseDerived(ctx context.Context, id int64) error
	EraseConversation(ctx context.Context, id int64) error
	ErasedPackages(ctx context.Context, id int64, after [32]byte, most int) ([]Package, error)
	// ErasePackages deletes the rows of packages whose objects are gone.
	ErasePackages(ctx context.Context, id int64, gone []Package) error
}

// Blobs is where packages are kept.
type Blobs interface {
	Exists(ctx context.Context, key string) (bool, error)
	Delete(ctx context.Context, key string) error
}

// Workflows are Temporal's.
type Workflows interface {
	// Open lists some of the open workflows of a workspace, or of one of its
	// conversations; the one that erases is not among them.
	Open(ctx context.Context, workspaceKey string, conversation int64) ([]Execution, error)
	// Terminate stops a workflow; one that has ended is success.
	Terminate(ctx context.Context, x Execution) error
}

// Ports are what the service works with.
type Ports struct {
	Store     Store
	Blobs     Blobs
	Workflows Workflows
	ObjectsOf func(packageKey string) []string // that belong to a package
	// removes what is left of a workspace's place in the package store
	Empty func(ctx context.Context, workspace int64) error
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("erase", map[string]any{"Store": p.Store, "Blobs": p.Blobs, "Workflows": p.Workflows,
		"ObjectsOf": p.ObjectsOf, "Empty": p.Empty})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

const (
	rows     = 5000 // deleted in one transaction, which keeps everybody else out of the workspace
	packages = 10   // whose objects are deleted before their rows
	page     = 200  // packages looked at in one query
)

// Plan counts what an erase would delete, and lists what came of a conversation.
func (s *Service) Plan(ctx context.Context, t Target) (Plan, error) {
	t, err := t.check()
	if err != nil {
		return Plan{}, err
	}
	return s.Store.PlanErasure(ctx, t)
}

// Accept makes an erase durable. From here nobody enters the workspace; a
// conversation is not found by its name any more.
func (s *Service) Accept(ctx context.Context, t Target) (Erasure, error) {
	t, err := t.check()
	if err != nil {
		return Erasure{}, err
	}
	id, err := s.Store.AcceptErasure(ctx, t)
	if err != nil {
		return Erasure{}, err
	}
	return s.Store.Erasure(ctx, id)
}

// Fence returns when every writer that was in the workspace has left it.
func (s *Service) Fence(ctx context.Context, id int64) error { return s.Store.FenceErasure(ctx, id) }

// lookAgain is how long Temporal's list of workflows is left to follow.
const lookAgain = 100 * time.Millisecond

// Stop terminates workflows until none is open. They could not write any more.
func (s *Service) Stop(ctx context.Context, id int64) error {
	e, err := s.Store.Erasure(ctx, id)
	if err != nil || e.Ended {
		return err
	}
	for {
		open, err := s.Workflows.Open(ctx, e.WorkspaceKey, e.Conversation)
		if err != nil {
			return err
		}
		left := len(open)
		seen := ExternalCounts{WorkflowsLeft: &left}
		for _, x := range open {
			seen.Stopped = append(seen.Stopped, x.Run)
		}
		if err := s.Store.NoteErasure(ctx, id, seen); err != nil { // before they are: a retry does not see them
			return err
		}
		if left == 0 {
			return nil
		}
		for _, x := range open {
			if err := s.Workflows.Terminate(ctx, x); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// CountObjects counts the objects that will go, once, before the first does.
func (s *Service) CountObjects(ctx context.Context, id int64) error {
	n := 0
	var after [32]byte
	for {
		ps, err := s.Store.ErasedPackages(ctx, id, after, page)
		if err != nil {
			return err
		}
		for _, p := range ps {
			found, err := s.present(ctx, p)
			if err != nil {
				return err
			}
			n, after = n+found, p.SHA
		}
		if len(ps) < page {
			return s.Store.NoteErasure(ctx, id, ExternalCounts{Objects: &n})
		}
	}
}

// present counts the objects of a package that are there.
func (s *Service) present(ctx context.Context, p Package) (n int, err error) {
	for _, object := range s.ObjectsOf(p.Key) {
		there, err := s.Blobs.Exists(ctx, object)
		if err != nil {
			return 0, fmt.Errorf("look for an object: %w", err)
		}
		if there {
			n++
		}
	}
	return n, nil
}

// Derived does to what came of a conversation as was chosen.
func (s *Service) Derived(ctx context.Context, id int64) error { return s.Store.EraseDerived(ctx, id) }

// Rows deletes in batches, so that nobody waits long for the workspace. The last
// of a conversation goes in one transaction: after it nothing can refer to it.
// What came of it meanwhile is dealt with first, for it refers to what goes.
func (s *Service) Rows(ctx context.Context, id int64) error {
	if err := s.Derived(ctx, id); err != nil {
		return err
	}
	tables, err := s.Store.ErasedTables(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		for n := rows; n == rows; {
			if n, err = s.Store.EraseRows(ctx, id, table, rows); err != nil {
				return fmt.Errorf("erase %s: %w", table, err)
			}
		}
	}
	return s.Store.EraseConversation(ctx, id)
}

// Objects deletes packages, their objects first. Nobody uploads one again meanwhile:
// a package that is being erased is refused.
func (s *Service) Objects(ctx context.Context, id int64) error {
	e, err := s.Store.Erasure(ctx, id)
	if err != nil || e.Ended {
		return err
	}
	for n := packages; n == packages; {
		gone, err := s.Store.ErasedPackages(ctx, id, [32]byte{}, packages)
		if err != nil {
			return err
		}
		if err := s.remove(ctx, gone); err != nil {
			return err
		}
		if err := s.Store.ErasePackages(ctx, id, gone); err != nil {
			return err
		}
		n = len(gone)
	}
	if e.Conversation == 0 {
		if err := s.Empty(ctx, e.Workspace); err != nil {
			return err
		}
	}
	none := 0
	return s.Store.NoteErasure(ctx, id, ExternalCounts{ObjectsLeft: &none})
}

// remove deletes the objects of packages, and looks whether they are gone.
func (s *Service) remove(ctx context.Context, ps []Package) error {
	for _, p := range ps {
		for _, object := range s.ObjectsOf(p.Key) {
			if err := s.Blobs.Delete(ctx, object); err != nil {
				return fmt.Errorf("delete an object: %w", err)
			}
		}
		left, err := s.present(ctx, p)
		if err != nil {
			return err
		}
		if left > 0 {
			return fault.New(fault.Unavailable, "the package store still shows an object that was deleted", "")
		}
	}
	return nil
}

// End counts what is left and ends the erasure when that is nothing. It returns how
// far the erasure is.
func (s *Service) End(ctx context.Context, id int64) (e Erasure, ended bool, err error) {
	if ended, err = s.Store.EndErasure(ctx, id); err != nil {
		return e, false, err
	}
	e, err = s.Store.Erasure(ctx, id)
	return e, ended, err
}

// Report is how far an erasure is, for whoever may know of the workspace. A
// workspace of 0 is everybody's.
func (s *Service) Report(ctx context.Context, workspace, id int64) (Erasure, error) {
	e, err := s.Store.Erasure(ctx, id)
	if err == nil && workspace != 0 && e.Workspace != workspace {
		return Erasure{}, fault.Newf(fault.NotFound, "there is no erasure %d", id)
	}
	return e, err
}
