package erase

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// Blobs is the package store.
type Blobs interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	List(ctx context.Context, folder string) ([]string, error)
	Exists(ctx context.Context, key string) (bool, error)
	Delete(ctx context.Context, key string) error
}

// Workflows lists and terminates workflows in Temporal.
type Workflows interface {
	// Open lists some of the open workflows of a workspace, except the erasure workflow. If
	// conversations is not empty, it lists only theirs.
	Open(ctx context.Context, workspaceKey string, conversations []int64) ([]Execution, error)
	// Terminate terminates a workflow. It succeeds if the workflow has already ended.
	Terminate(ctx context.Context, x Execution) error
}

// Ports are the dependencies of the service.
type Ports struct {
	Store     store.Erasures
	Blobs     Blobs
	Workflows Workflows
	ObjectsOf func(packageKey string) []string // keys of the objects of a package
	// Empty deletes the remains of a workspace in the package store.
	Empty func(ctx context.Context, workspace int64) error
}

// Service erases workspaces, conversations and subjects.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

const (
	rows     = 5000 // deleted per transaction, which locks the workspace
	packages = 10   // whose objects are deleted before their rows
	page     = 200  // packages per query
	items    = 1000 // messages and memories of a subject per transaction
	stopped  = 50   // conversations whose workflows are listed at once
)

// Meant returns the ID of the subject that a person means by a name. If the name means several subjects,
// the error names them.
func (s *Service) Meant(ctx context.Context, ws int64, name string) (string, error) {
	return s.Store.MeantSubject(ctx, ws, name)
}

// Plan counts what an erasure would delete and lists derived data.
func (s *Service) Plan(ctx context.Context, t erasure.Target) (erasure.Plan, error) {
	t, err := t.Check()
	if err != nil {
		return erasure.Plan{}, err
	}
	return s.Store.PlanErasure(ctx, t)
}

// Accept stores an erasure. From then on, the workspace rejects all access, and a conversation
// cannot be found by its name. What a subject loses is determined here: a memory of it that is
// written later belongs to its next erasure.
func (s *Service) Accept(ctx context.Context, t erasure.Target) (erasure.Erasure, error) {
	t, err := t.Check()
	if err != nil {
		return erasure.Erasure{}, err
	}
	id, err := s.Store.AcceptErasure(ctx, t)
	if err != nil {
		return erasure.Erasure{}, err
	}
	return s.Store.Erasure(ctx, id)
}

// Fence stores the tombstone, and waits until all transactions that were active in the workspace have
// ended.
func (s *Service) Fence(ctx context.Context, in contract.EraseRef) error {
	if err := s.addTombstone(ctx, in.Erasure); err != nil {
		return err
	}
	return s.Store.FenceErasure(ctx, in.Erasure)
}

// lookAgain is the time for which Stop waits for Temporal's list of workflows to be updated.
const lookAgain = 100 * time.Millisecond

// Stop terminates workflows until none is open. Since Fence they can no longer write.
func (s *Service) Stop(ctx context.Context, in contract.EraseRef) error {
	e, err := s.Store.Erasure(ctx, in.Erasure)
	if err != nil || e.Ended {
		return err
	}
	if e.Whole() {
		return s.stop(ctx, e, nil)
	}
	conversations := []int64{e.Conversation}
	if e.Subject != "" {
		if conversations, err = s.Store.ErasedConversations(ctx, in.Erasure); err != nil {
			return err
		}
	}
	if len(conversations) == 0 {
		none := 0
		return s.Store.NoteErasure(ctx, in.Erasure, erasure.ExternalCounts{WorkflowsLeft: &none})
	}
	for some := range slices.Chunk(conversations, stopped) {
		if err := s.stop(ctx, e, some); err != nil {
			return err
		}
	}
	return nil
}

// stop terminates the workflows of conversations, of all if there are none.
func (s *Service) stop(ctx context.Context, e erasure.Erasure, conversations []int64) error {
	for {
		open, err := s.Workflows.Open(ctx, e.WorkspaceKey, conversations)
		if err != nil {
			return err
		}
		left := len(open)
		seen := erasure.ExternalCounts{WorkflowsLeft: &left}
		for _, x := range open {
			seen.Stopped = append(seen.Stopped, x.Run)
		}
		// before they are terminated, because a retry does not see them
		if err := s.Store.NoteErasure(ctx, e.ID, seen); err != nil {
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

// CountObjects counts the objects to delete, once, before the first is deleted.
func (s *Service) CountObjects(ctx context.Context, in contract.EraseRef) error {
	n := 0
	var after [32]byte
	for {
		ps, err := s.Store.ErasedPackages(ctx, in.Erasure, after, page)
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
			return s.Store.NoteErasure(ctx, in.Erasure, erasure.ExternalCounts{Objects: &n})
		}
	}
}

// present counts the existing objects of a package.
func (s *Service) present(ctx context.Context, p erasure.Package) (n int, err error) {
	for _, object := range s.ObjectsOf(p.Key) {
		there, err := s.Blobs.Exists(ctx, object)
		if err != nil {
			return 0, fmt.Errorf("check an object: %w", err)
		}
		if there {
			n++
		}
	}
	return n, nil
}

// Derived removes messages and memories of a subject, and applies the chosen action to data derived
// from erased conversations.
func (s *Service) Derived(ctx context.Context, in contract.EraseRef) error {
	for {
		n, err := s.Store.EraseSubject(ctx, in.Erasure, items)
		if err != nil {
			return fmt.Errorf("erase messages and memories: %w", err)
		}
		if n == 0 {
			return s.Store.EraseDerived(ctx, in.Erasure)
		}
	}
}

// Rows deletes in batches, to lock the workspace only briefly. The last rows of a conversation are
// deleted in one transaction, after which nothing can refer to it. Data derived from it in the
// meantime is handled first, because it refers to rows to delete.
func (s *Service) Rows(ctx context.Context, in contract.EraseRef) error {
	if err := s.Derived(ctx, in); err != nil {
		return err
	}
	tables, err := s.Store.ErasedTables(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		for n := rows; n == rows; {
			if n, err = s.Store.EraseRows(ctx, in.Erasure, table, rows); err != nil {
				return fmt.Errorf("erase %s: %w", table, err)
			}
		}
	}
	return s.Store.EraseConversation(ctx, in.Erasure)
}

// Objects deletes packages, their objects first. No new upload can recreate one, because packages
// under erasure are rejected.
func (s *Service) Objects(ctx context.Context, in contract.EraseRef) error {
	e, err := s.Store.Erasure(ctx, in.Erasure)
	if err != nil || e.Ended {
		return err
	}
	for n := packages; n == packages; {
		gone, err := s.Store.ErasedPackages(ctx, in.Erasure, [32]byte{}, packages)
		if err != nil {
			return err
		}
		if err := s.remove(ctx, gone); err != nil {
			return err
		}
		if err := s.Store.ErasePackages(ctx, in.Erasure, gone); err != nil {
			return err
		}
		n = len(gone)
	}
	if e.Whole() {
		if err := s.Empty(ctx, e.Workspace); err != nil {
			return err
		}
	}
	none := 0
	return s.Store.NoteErasure(ctx, in.Erasure, erasure.ExternalCounts{ObjectsLeft: &none})
}

// remove deletes the objects of packages and checks that they no longer exist.
func (s *Service) remove(ctx context.Context, ps []erasure.Package) error {
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
			return fault.New(fault.Unavailable, "package store still lists a deleted object", "")
		}
	}
	return nil
}

// End counts the remaining rows and ends the erasure if there are none. It returns the state of the
// erasure.
func (s *Service) End(ctx context.Context, in contract.EraseRef) (out contract.EraseResult, err error) {
	if out.Ended, err = s.Store.EndErasure(ctx, in.Erasure); err != nil {
		return out, err
	}
	e, err := s.Store.Erasure(ctx, in.Erasure)
	out.Rows, out.Objects, out.Workflows = e.Rows(), e.Objects, e.Workflows
	return out, err
}

// Report returns the state of an erasure of the given workspace. A workspace of 0 allows access to
// every erasure.
func (s *Service) Report(ctx context.Context, workspace, id int64) (erasure.Erasure, error) {
	e, err := s.Store.Erasure(ctx, id)
	if err == nil && workspace != 0 && e.Workspace != workspace {
		return erasure.Erasure{}, fault.Newf(fault.NotFound, "erasure %d not found", id)
	}
	return e, err
}
