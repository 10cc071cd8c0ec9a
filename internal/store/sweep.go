package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/scheduled"
	"cairn/internal/store/dbsqlc"
)

// Sweep implements the store of the sweep.
type Sweep struct{ *Store }

// Sweep returns the store of the sweep of scheduled tasks.
func (s *Store) Sweep() Sweep { return Sweep{s} }

// ClaimPage claims due tasks. It inserts the row of the page first: a repeated attempt waits for
// the first one's transaction, and gets its page.
func (s Sweep) ClaimPage(ctx context.Context, claim string, max int, lease time.Duration,
	plan func([]scheduled.Due) ([]scheduled.Advance, []scheduled.Due)) (out scheduled.ClaimResult, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		if n, err := q.SweepPageOpen(ctx, claim); err != nil || n == 0 {
			if err == nil {
				out, err = heldPage(ctx, q, claim, lease)
			}
			return err
		}
		rows, err := q.SweepClaim(ctx, int32(max))
		if err != nil || len(rows) == 0 {
			return err
		}
		due := make([]scheduled.Due, len(rows))
		for i, r := range rows {
			due[i] = dueOf(r)
		}
		moves, again := plan(due)
		if out, err = takePage(ctx, q, claim, lease, moves, again); err != nil {
			return err
		}
		out.Looked, out.More = len(rows), len(rows) == max
		return q.SweepPageSet(ctx, dbsqlc.SweepPageSetParams{Claim: claim, Looked: int32(out.Looked),
			Taken: int32(out.Taken), Empty: int32(out.Empty), Skipped: int32(out.Skipped), More: out.More})
	})
	return out, err
}

func dueOf(r dbsqlc.SweepClaimRow) scheduled.Due {
	return scheduled.Due{Workspace: r.WorkspaceID, WorkspaceKey: r.WorkspaceKey, Task: r.ID,
		Kind: scheduled.Kind(r.Kind),
		Cron: r.Cron, Zone: r.Zone,
		CatchUp: time.Duration(r.CatchUpSeconds * float64(time.Second)),
		Next:    scheduled.Firing{At: r.DueAt, Date: r.DueDate, Key: r.DueKey},
		Held:    scheduled.Firing{At: r.SlotAt, Date: r.SlotDate, Key: r.SlotKey}, ReflectedTo: r.ReflectedTo,
		Verdict: scheduled.Verdict(r.Verdict), Now: r.At,
		Quiet: scheduled.QuietHours{From: r.QuietFrom, To: r.QuietTo, Zone: r.HomeZone}, EmptyWeek: r.EmptyWeek}
}

// heldPage returns the unsettled rest of a known claim's page.
func heldPage(ctx context.Context, q *dbsqlc.Queries, claim string, lease time.Duration) (out scheduled.ClaimResult,
	err error) {
	p, err := q.SweepPageGet(ctx, claim)
	if err != nil {
		return out, fmt.Errorf("read the page: %w", err)
	}
	out = scheduled.ClaimResult{Looked: int(p.Looked), Taken: int(p.Taken), Empty: int(p.Empty),
		Skipped: int(p.Skipped),
		More:    p.More}
	rows, err := q.SweepHeld(ctx, dbsqlc.SweepHeldParams{Lease: lease, Claim: claim})
	for _, r := range rows {
		out.Slots = append(out.Slots, scheduled.ClaimedFiring{Workspace: r.WorkspaceID, WorkspaceKey: r.WorkspaceKey,
			Task: r.ID, Kind: scheduled.Kind(r.Kind), Zone: r.Zone,
			Firing: scheduled.Firing{At: *r.SlotAt, Date: r.SlotDate, Key: *r.SlotKey}, ReflectedTo: r.ReflectedTo,
			Why: contract.ReflectionOfSweep})
	}
	return out, err
}

// takePage stores the decisions about a page.
func takePage(ctx context.Context, q *dbsqlc.Queries, claim string, lease time.Duration, moves []scheduled.Advance,
	again []scheduled.Due) (out scheduled.ClaimResult, err error) {
	advance := dbsqlc.SweepAdvanceParams{Claim: claim, Lease: lease}
	for _, m := range moves {
		a := &advance
		a.Workspaces, a.Ids = append(a.Workspaces, m.Due.Workspace), append(a.Ids, m.Due.Task)
		a.DueAts, a.DueDates, a.DueKeys = append(a.DueAts, m.Next.At), append(a.DueDates, m.Next.Date),
			append(a.DueKeys, m.Next.Key)
		a.StartAts = append(a.StartAts, m.Next.Start)
		a.SlotAts, a.SlotDates, a.SlotKeys = append(a.SlotAts, m.Slot.At), append(a.SlotDates, m.Slot.Date),
			append(a.SlotKeys, m.Slot.Key)
		a.Outcomes, a.Reasons, a.Helds = append(a.Outcomes, m.Outcome), append(a.Reasons, storable(m.Reason)),
			append(a.Helds, m.Start())
		if m.Due.EmptyWeek {
			out.EmptyWeek = append(out.EmptyWeek, m.Due.Workspace)
		}
		switch {
		case m.Start():
			out.Slots = append(out.Slots, slotOf(m.Due, m.Slot))
		case m.Outcome == scheduled.Empty:
			out.Empty++
		case m.Outcome != "":
			out.Skipped++
		}
	}
	if n, err := q.SweepAdvance(ctx, advance); err != nil || n != int64(len(moves)) {
		return out, fmt.Errorf("move %d tasks to their next firing: %d were, %w", len(moves), n, orMissing(err))
	}
	renew := dbsqlc.SweepRenewParams{Claim: claim, Lease: lease}
	for _, d := range again {
		renew.Workspaces, renew.Ids = append(renew.Workspaces, d.Workspace), append(renew.Ids, d.Task)
		out.Slots = append(out.Slots, slotOf(d, d.Held))
	}
	if len(again) > 0 {
		if _, err := q.SweepRenew(ctx, renew); err != nil {
			return out, fmt.Errorf("take over %d slots: %w", len(again), err)
		}
	}
	out.Taken = len(out.Slots)
	return out, nil
}

func slotOf(d scheduled.Due, f scheduled.Firing) scheduled.ClaimedFiring {
	return scheduled.ClaimedFiring{Workspace: d.Workspace, WorkspaceKey: d.WorkspaceKey, Task: d.Task, Kind: d.Kind,
		Zone: d.Zone, Firing: f, ReflectedTo: d.ReflectedTo, Why: contract.ReflectionOfSweep}
}

// orMissing returns an error for rows that row-level security has hidden.
func orMissing(err error) error {
	if err == nil {
		return fmt.Errorf("the others are not visible")
	}
	return err
}

// SettleSlots ends slots that the claim still holds. Slots that another page has taken over are not
// changed.
func (s Sweep) SettleSlots(ctx context.Context, claim string, ended []scheduled.DispatchResult) error {
	p := dbsqlc.SweepSettleParams{Claim: claim}
	for _, e := range ended {
		p.Workspaces, p.Ids = append(p.Workspaces, e.Slot.Workspace), append(p.Ids, e.Slot.Task)
		p.Outcomes, p.Reasons = append(p.Outcomes, e.Outcome), append(p.Reasons, storable(e.Reason))
	}
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		_, err := q.SweepSettle(ctx, p)
		return classify("end slots of the sweep", err)
	})
}

// ForgetPages deletes the pages of old sweeps.
func (s *Store) ForgetPages(ctx context.Context) (n int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.SweepPagesForget(ctx)
		return classify("delete old pages of the sweep", err)
	})
	return n, err
}
