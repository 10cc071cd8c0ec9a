package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/adapter/launcher"
	"cairn/internal/adapter/postgres"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/service/reflection"
	"cairn/internal/service/tools"
)

// ReflectionSpec is the configuration that a new reflection is pinned to.
func ReflectionSpec(c config.Config) conversation.Spec {
	s := TurnSpec(c)
	s.Model = cmp.Or(c.ModelReflection, c.ModelNudge, s.Model)
	return s
}

// hireReflection brings reflections into the loop: the tools of reviews, and
// before them the one that takes notes.
func (h *Host) hireReflection() error {
	notes, err := tools.Notes(h.Memory)
	if err != nil {
		return err
	}
	usual, err := h.usual()
	if err != nil {
		return err
	}
	all, err := tools.NewRegistry(slices.Concat(notes, usual)...)
	if err != nil {
		return err
	}
	h.Reflect = &reflection.Service{Store: h.Store.Reflections(), Keeper: h.Memory, Memory: known{h.Memory, h.Library, h.LongTerm}, Tools: all, Log: h.Log}
	h.Converse.Agents[run.Reflection] = reflection.Agent{Service: h.Reflect}
	noting, err := tools.NewRegistry(notes...)
	h.Converse.Agents[run.Flush] = conversation.Flush{Notes: noting}
	return err
}

func (h *Host) openReflection(ctx context.Context, in contract.ReflectionInput, workflowID string) (reflection.Opened, error) {
	ws, err := h.Store.WorkspaceByKey(ctx, in.Workspace)
	if err != nil {
		return reflection.Opened{}, err
	}
	return h.Reflect.Open(ctx, reflection.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Date: in.Date, Zone: in.Zone, From: in.From, To: in.To, Why: in.Why,
		Generation: in.Generation, WorkflowID: workflowID, Spec: ReflectionSpec(h.Config)})
}

// distillDay has the conversations of a reflection distilled when there is enough
// in them that nobody has distilled yet, and remembered with memory skills where
// the workspace chose them: gate and marks are those of conversations that have
// gone idle.
func (h *Host) distillDay(ctx context.Context, ref run.Ref, workspaceKey string) (out contract.DayDistilled, err error) {
	conversations, err := h.Reflect.Conversations(ctx, ref)
	if err != nil {
		return out, err
	}
	for _, c := range conversations {
		in := contract.IdleInput{Workspace: ref.Workspace, WorkspaceKey: workspaceKey, Conversation: c}
		_, err := h.buildIdle(ctx, in)
		var id int64
		if err == nil {
			id, err = h.distillIdle(ctx, in)
		}
		if fault.CodeOf(err) == fault.NotFound { // it was erased meanwhile
			continue
		}
		if err != nil {
			return out, err
		}
		if id == 0 {
			continue
		}
		err = h.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q postgres.Tx) error {
			made, err := q.Runs().Run(ctx, id)
			if err == nil && made.Status != run.Ended {
				out.Distills = append(out.Distills, contract.DistillToStart{WorkflowID: made.WorkflowID, Conversation: made.Conversation, Input: launcher.DistillInput(workspaceKey, made)})
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// ReflectRequest asks for a date, or for what was said so far.
type ReflectRequest struct {
	Date string // local, as 2026-03-01; empty is today
	Redo bool   // read it again although it was, and pay again
}

// ReflectNow records the reflection of a local date of the workspace and has it
// started. Of today it reads what is unread so far, of a date that is over what
// was said on it. A date that is done stays as it is unless a redo is asked for;
// one that failed is done again.
func (h *Host) ReflectNow(ctx context.Context, ws postgres.Workspace, r ReflectRequest) (out reflection.Opened, err error) {
	in, err := h.reflectionWindow(ctx, ws, r.Date)
	if err != nil {
		return out, err
	}
	if in.Generation, err = h.Reflect.Generation(ctx, ws.ID, in.Date, r.Redo); err != nil {
		return out, err
	}
	if out, err = h.openReflection(ctx, in, ""); err != nil || out.Ended != nil || h.Temporal == nil {
		return out, err
	}
	if err := h.Driver.Start(ctx, ws.Key, "", out.Run); err != nil {
		h.Log.Warn("a reflection is stored and not started yet; the relay will start it", "run", out.Run.Ref.Run, "error", err)
	}
	return out, nil
}

// reflectionWindow is what belongs to a local date.
func (h *Host) reflectionWindow(ctx context.Context, ws postgres.Workspace, date string) (in contract.ReflectionInput, err error) {
	var zoneName string
	err = h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		chosen, err := q.Workspaces().Settings(ctx)
		if zoneName = chosen.TimeZone; err == nil && !chosen.Reflection {
			err = fault.New(fault.TurnedOff, "the workspace has turned reflection off in its settings", "turn it on first: cairn settings set reflection=true")
		}
		return err
	})
	if err != nil {
		return in, err
	}
	zone, err := recurrence.Zone(zoneName)
	if err != nil {
		return in, err
	}
	now := time.Now()
	today := recurrence.DateOf(now.In(zone))
	day := today
	if date != "" {
		d, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return in, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", date), "write it as 2026-03-01")
		}
		day = recurrence.DateOf(d)
	}
	in = contract.ReflectionInput{Workspace: ws.Key, Date: day.String(), Zone: zoneName, From: day.Start(zone), To: day.AddDays(1).Start(zone), Why: contract.ReflectionOfBackfill}
	switch {
	case day == today:
		in.Why, in.To = contract.ReflectionNow, now.UTC().Truncate(time.Microsecond)
	case now.Before(in.From):
		return in, fault.New(fault.InvalidArgument, fmt.Sprintf("%s has not come yet in %s", in.Date, zoneName), "use today or a date before it")
	case !in.From.Before(in.To):
		return in, fault.New(fault.InvalidArgument, fmt.Sprintf("%s has no %s: the clock went over it", zoneName, in.Date), "use the date before or after it")
	}
	return in, nil
}

// MaxReflections is how many dates a list has at most.
const MaxReflections = 1000

// maxBackfill is how many dates are asked for at once.
const maxBackfill = 366

// ReflectBackfill has each local date from one to another, both included, looked
// back on for what was said on it and never read. Each is called after a date was
// recorded, and may wait for it.
func (h *Host) ReflectBackfill(ctx context.Context, ws postgres.Workspace, from, to string, redo bool, each func(reflection.Opened) error) error {
	var days [2]recurrence.Date
	for i, text := range []string{from, to} {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", text), "write it as 2026-03-01")
		}
		days[i] = recurrence.DateOf(d)
	}
	if days[1].String() < days[0].String() || days[0].AddDays(maxBackfill-1).String() < days[1].String() {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("from %s to %s are no dates to go through", from, to), fmt.Sprintf("the last comes after the first, and at most %d are taken at once", maxBackfill))
	}
	if _, err := h.reflectionWindow(ctx, ws, to); err != nil { // before the first is paid for
		return err
	}
	for d := days[0]; d.String() <= days[1].String(); d = d.AddDays(1) {
		opened, err := h.ReflectNow(ctx, ws, ReflectRequest{Date: d.String(), Redo: redo})
		if fault.CodeOf(err) == fault.InvalidArgument && d != days[1] { // a date that the zone leaves out
			continue
		}
		if err == nil {
			err = each(opened)
		}
		if err != nil {
			return fmt.Errorf("reflect on %s: %w", d, err)
		}
	}
	return nil
}
