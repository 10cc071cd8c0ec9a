package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
)

// ClaimedFiring is a firing that a page has taken and that is to be started.
type ClaimedFiring struct {
	Workspace    int64
	WorkspaceKey string
	Task         int64
	Kind         Kind
	Zone         string
	Firing
	ReflectedTo time.Time // watermark of the reflection; zero without one
	Why         string    // flow.ReflectionOfSweep and the others
}

// ClaimResult is what a claim came to.
type ClaimResult struct {
	Looked, Taken, Empty, Skipped int
	More                          bool
	Slots                         []ClaimedFiring // taken and not dealt with yet
	Unheard                       []int64         // workspaces whose days were empty for a week although people talked
}

// DispatchResult is what became of a slot.
type DispatchResult struct {
	Slot    ClaimedFiring
	Outcome string
	Reason  string
}

// Claims are the database's side of the sweep.
type Claims interface {
	// ClaimPage takes up to max tasks that are due and moves them as plan says, in
	// one transaction. A claim that is known gives its page once more.
	ClaimPage(ctx context.Context, claim string, max int, lease time.Duration,
		plan func([]Due) ([]Advance, []Due)) (ClaimResult, error)
	// SettleSlots ends slots that the claim still holds.
	SettleSlots(ctx context.Context, claim string, ended []DispatchResult) error
}

// Starter starts what is due. Starting is safe to repeat: what it starts is
// named by the slot.
type Starter interface {
	StartSlot(ctx context.Context, s ClaimedFiring) (outcome, reason string, err error)
}

// SweeperPorts are what the sweeper works with.
type SweeperPorts struct {
	Claims  Claims
	Starter Starter
	Planner Planner
	Log     *slog.Logger
}

// Sweeper does pages of the sweep.
type Sweeper struct{ SweeperPorts }

// NewSweeper makes the sweeper. A required port that is nil is an error.
func NewSweeper(p SweeperPorts) (*Sweeper, error) {
	err := ports.Require("schedule sweeper", map[string]any{"Claims": p.Claims, "Starter": p.Starter, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Sweeper{SweeperPorts: p}, nil
}

const (
	// pageRows are claimed in a fraction of a second, and one in fifty of them to
	// be started keeps all starters busy.
	pageRows = 4000
	// abreast are started at once: Temporal answers each in milliseconds.
	abreast = 16
	// lease outlives an attempt at a page: another page takes what it left.
	lease = 5 * time.Minute
	// settleEvery slots are ended in one transaction.
	settleEvery = 64
)

// Page claims up to rows tasks and starts what they ask for; 0 rows is as many as
// is good. A slot that cannot be started now stays with its lease, and comes again
// when that has run out.
func (s *Sweeper) Page(ctx context.Context, claim string, rows int) (out contract.SweepCounts, err error) {
	if rows <= 0 {
		rows = pageRows
	}
	page, err := s.Claims.ClaimPage(ctx, claim, rows, lease, s.Planner.Plan)
	if err != nil {
		return out, fmt.Errorf("claim a page: %w", err)
	}
	for _, ws := range page.Unheard {
		s.Log.Error("sweep: nothing was looked back on for a week although people talked", "workspace", ws)
	}
	out = contract.SweepCounts{Looked: page.Looked, Started: page.Taken, Empty: page.Empty, Skipped: page.Skipped,
		More: page.More}
	return out, s.start(ctx, claim, page.Slots)
}

// start starts the slots of a page side by side and settles them as they come.
func (s *Sweeper) start(ctx context.Context, claim string, slots []ClaimedFiring) error {
	todo, done := make(chan ClaimedFiring), make(chan DispatchResult)
	var working sync.WaitGroup
	for range min(abreast, len(slots)) {
		working.Go(func() {
			for slot := range todo {
				if e, ok := s.startOne(ctx, slot); ok {
					done <- e
				}
			}
		})
	}
	go func() {
		defer close(todo)
		for _, slot := range slots {
			select {
			case todo <- slot:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { working.Wait(); close(done) }()
	return errors.Join(s.settle(ctx, claim, done), ctx.Err())
}

// startOne is false for a slot that is left to its lease.
func (s *Sweeper) startOne(ctx context.Context, slot ClaimedFiring) (DispatchResult, bool) {
	outcome, reason, err := s.Starter.StartSlot(ctx, slot)
	if err == nil {
		return DispatchResult{slot, outcome, reason}, true
	}
	if ctx.Err() != nil {
		return DispatchResult{}, false
	}
	s.Log.Warn("sweep: a task could not be started", "workspace", slot.Workspace, "task", slot.Task, "slot", slot.Key,
		"error", err)
	code := fault.CodeOf(err)
	if code == fault.Internal || fault.Table[code].Retryable {
		return DispatchResult{}, false
	}
	return DispatchResult{slot, Failed, fmt.Sprintf("%s: %s", code, fault.From(err).Message)}, true
}

// settle drains done to its end, also when settling fails: the starters wait for it.
func (s *Sweeper) settle(ctx context.Context, claim string, done <-chan DispatchResult) error {
	var (
		waiting []DispatchResult
		errs    []error
	)
	flush := func() {
		if len(waiting) > 0 {
			errs = append(errs, s.Claims.SettleSlots(ctx, claim, waiting))
			waiting = waiting[:0]
		}
	}
	for e := range done {
		if waiting = append(waiting, e); len(waiting) == settleEvery {
			flush()
		}
	}
	flush()
	return errors.Join(errs...)
}
