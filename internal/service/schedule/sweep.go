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
	"cairn/internal/domain/scheduled"
	"cairn/internal/store"
)

// Starter starts due work. It may be called again for a slot, because what it starts is named after
// the slot.
type Starter interface {
	StartSlot(ctx context.Context, s scheduled.ClaimedFiring) (outcome, reason string, err error)
}

// SweeperPorts are the dependencies of a Sweeper.
type SweeperPorts struct {
	Claims  store.Sweep
	Starter Starter
	Planner Planner
	Log     *slog.Logger
}

// Sweeper processes pages of due tasks.
type Sweeper struct{ SweeperPorts }

// NewSweeper returns a Sweeper.
func NewSweeper(p SweeperPorts) *Sweeper {
	return &Sweeper{SweeperPorts: p}
}

const (
	// pageRows tasks are claimed in less than a second. If 2% of them must be started, all starters
	// are busy.
	pageRows = 4000
	// abreast is the number of concurrent starts. Temporal handles each in milliseconds.
	abreast = 16
	// lease is longer than an attempt at a page. After it, another page claims the remaining slots.
	lease = 5 * time.Minute
	// settleEvery is the number of slots ended in one transaction.
	settleEvery = 64
)

// Page claims up to in.Rows tasks and starts their work; 0 rows uses pageRows. A slot that cannot be
// started keeps its lease and is claimed again after it expires.
func (s *Sweeper) Page(ctx context.Context, in contract.SweepPageInput) (out contract.SweepCounts, err error) {
	rows := in.Rows
	if rows <= 0 {
		rows = pageRows
	}
	page, err := s.Claims.ClaimPage(ctx, in.Claim, rows, lease, s.Planner.Plan)
	if err != nil {
		return out, fmt.Errorf("claim a page: %w", err)
	}
	for _, ws := range page.EmptyWeek {
		s.Log.Error("reflection empty for 7 days", "workspace", ws)
	}
	out = contract.SweepCounts{Looked: page.Looked, Started: page.Taken, Empty: page.Empty, Skipped: page.Skipped,
		More: page.More}
	return out, s.start(ctx, in.Claim, page.Slots)
}

// start starts the slots of a page concurrently and settles them as they finish.
func (s *Sweeper) start(ctx context.Context, claim string, slots []scheduled.ClaimedFiring) error {
	todo, done := make(chan scheduled.ClaimedFiring), make(chan scheduled.DispatchResult)
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

// startOne returns false for a slot that stays under its lease.
func (s *Sweeper) startOne(ctx context.Context, slot scheduled.ClaimedFiring) (scheduled.DispatchResult, bool) {
	outcome, reason, err := s.Starter.StartSlot(ctx, slot)
	if err == nil {
		return scheduled.DispatchResult{Slot: slot, Outcome: outcome, Reason: reason}, true
	}
	if ctx.Err() != nil {
		return scheduled.DispatchResult{}, false
	}
	s.Log.Warn("scheduled task start failed", "workspace", slot.Workspace, "task", slot.Task, "slot", slot.Key,
		"error", err)
	code := fault.CodeOf(err)
	if code == fault.Internal || fault.Table[code].Retryable {
		return scheduled.DispatchResult{}, false
	}
	return scheduled.DispatchResult{Slot: slot, Outcome: Failed,
		Reason: fmt.Sprintf("%s: %s", code, fault.From(err).Message)}, true
}

// settle reads done until it is closed, even after an error, because the starters block on it.
func (s *Sweeper) settle(ctx context.Context, claim string, done <-chan scheduled.DispatchResult) error {
	var (
		waiting []scheduled.DispatchResult
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
