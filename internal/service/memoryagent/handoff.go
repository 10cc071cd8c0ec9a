package memoryagent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// KeepSession stores the session of a run and registers the targets of the request. Calling it
// again has no effect.
func (s *Service) KeepSession(ctx context.Context, in contract.AgentInput) (out contract.KeepSessionResult, err error) {
	r, err := s.run(ctx, in.Ref())
	if err != nil {
		return out, err
	}
	if r.Status == run.Ended {
		out.Ended, err = endedOf(r)
		return out, err
	}
	w, p, err := pinnedOf(r)
	if err != nil {
		return out, err
	}
	a := actor(w, "session", 0)
	a.Subject = agent.MemoryScope{Author: p.Author}
	if _, err := s.LongTerm.AddRange(ctx, a,
		memory.Evidence{Conversation: r.Conversation, FromSeq: w.Spec.FromSeq, ToSeq: w.Spec.ToSeq}); err != nil {
		return out, err
	}
	if len(p.Targets) == 0 {
		return out, nil
	}
	var wanted []memories.NewTarget
	for i, t := range p.Targets {
		wanted = append(wanted, memories.NewTarget{Index: i, Type: t.Type, Target: t.Target})
	}
	_, err = s.LongTerm.AddTargets(ctx, actor(w, "session", 1), wanted)
	return out, err
}

// endedOf returns the result of a run that has ended.
func endedOf(r run.Run) (*contract.AgentResult, error) {
	var stored run.Result
	if err := json.Unmarshal(r.Result, &stored); err != nil {
		return nil, fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	out := agentrun.ResultOf(stored)
	return &out, nil
}

// tries is the maximum number of hand-offs of a pair in one run. The second follows a failure.
const tries = 2

// HandOff runs the tool calls before a call to hands_off in the same response, and records the
// specialist runs of that call. A pair is handed off again only if its first run failed.
func (s *Service) HandOff(ctx context.Context, in contract.ToolInput) (out contract.HandOffResult, err error) {
	w, result, done, err := s.Loop.RunThrough(ctx, in)
	if err != nil || done {
		return contract.HandOffResult{Recorded: true}, err
	}
	p, err := pinned(w)
	if err != nil {
		return out, err
	}
	var handed memories.HandedOff
	if err := json.Unmarshal(result.JSON, &handed); err != nil {
		return out, fmt.Errorf("decode the tasks of run %s: %w", in.Run, err)
	}
	history, err := s.history(ctx, w, p)
	if err != nil {
		return out, err
	}
	var specialists []run.Run
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		specialists = nil
		for _, t := range handed.Tasks {
			r, err := s.specialist(ctx, tx, w, p, t, history, in.Step)
			if err != nil {
				return err
			}
			specialists = append(specialists, r)
		}
		return nil
	})
	if fault.CodeOf(err) == fault.InvalidArgument { // such as an agent version that no longer exists
		return contract.HandOffResult{Recorded: true},
			s.Loop.Tell(ctx, in.Ref(), in.Step, in.Position, tools.Failure(fault.From(err)))
	}
	if err != nil {
		return out, err
	}
	for _, r := range specialists {
		input, err := Input(in.WorkspaceKey, r)
		if err != nil {
			return out, err
		}
		out.Specialists = append(out.Specialists,
			contract.AgentToStart{WorkflowID: r.WorkflowID, Type: input.Kind, Input: input})
	}
	return out, nil
}

// specialist records the run of one task. If the run exists, specialist returns it.
func (s *Service) specialist(ctx context.Context, tx store.Tx, w agentrun.RunView, p PinnedSpec, t memory.Task,
	history string, step int) (run.Run, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return run.Run{}, err
	}
	d, err := s.Registry.chosen(run.Specialist, t.Type, chosen.Memory, p.choices().over)
	if err != nil {
		return run.Run{}, err
	}
	number, part := partOf(w, p, step)
	for try := 1; ; try++ {
		key := fmt.Sprintf("%s/%s/%s/%d", w.Run.Ref.Run, t.Type, t.Target, try)
		if number > 1 {
			key = fmt.Sprintf("%s/part-%d/%s/%s/%d", w.Run.Ref.Run, number, t.Type, t.Target, try)
		}
		known, found, err := tx.Runs().RunOf(ctx, run.Specialist, key)
		if err != nil {
			return run.Run{}, err
		}
		if found {
			before, err := taskOf(known)
			if err != nil {
				return run.Run{}, err
			}
			_, asked, err := pinnedOf(known)
			if err != nil {
				return run.Run{}, err
			}
			if known.Status != run.Ended || before.Status != Failed || asked.Step == step || try == tries {
				return known, nil
			}
			continue
		}
		base := w.Spec
		base.Pinned = nil
		mine := PinnedSpec{Workspace: p.Workspace, Type: t.Type, Target: t.Target, History: history, Step: step,
			Choices: p.Choices, Part: number}
		if part != nil {
			mine.Parts, base.FromSeq, base.ToSeq = []Part{*part}, part.FromSeq, part.ToSeq
		}
		spec, err := pin(base, d, mine, chosen.Memory)
		if err != nil {
			return run.Run{}, err
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			return run.Run{}, fmt.Errorf("encode the configuration: %w", err)
		}
		made, err := tx.AgentRuns().PutAgentRun(ctx,
			run.NewAgentRun{Kind: run.Specialist, Key: key, Generation: 1, ArgsSHA: sha256.Sum256([]byte(key)),
				Conversation: w.Run.Conversation, Parent: w.Run.Ref.Run, Spec: raw,
				WorkflowID: contract.SpecialistID(p.Workspace, w.Run.Ref.Run, string(t.Type), t.Target, try, number)})
		if err != nil {
			return run.Run{}, err
		}
		return made, tx.Runs().EnqueueRun(ctx, made.Ref.Run)
	}
}

// RecordHandOff stores the results of the runs of a call to hands_off.
func (s *Service) RecordHandOff(ctx context.Context, in contract.RecordHandOffInput) error {
	_, result, over, err := s.Loop.RunThrough(ctx, in.ToolInput)
	if err != nil || over {
		return err
	}
	var handed memories.HandedOff
	if err := json.Unmarshal(result.JSON, &handed); err != nil {
		return fmt.Errorf("decode the tasks of run %s: %w", in.Run, err)
	}
	out := struct {
		OK       bool                  `json:"ok"`
		Text     string                `json:"text"`
		Status   string                `json:"status"`
		Tasks    []taskResult          `json:"tasks"`
		Rejected []memories.ItemResult `json:"rejected,omitempty"`
	}{OK: true, Status: OK, Rejected: handed.Rejected}
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		out.Tasks = nil
		for _, id := range in.Runs {
			r, err := tx.Runs().Run(ctx, id)
			if err != nil {
				return err
			}
			t, err := taskOf(r)
			if err != nil {
				return err
			}
			if t.Status == Failed || t.Status == Partial {
				out.Status = Partial
			}
			out.Tasks = append(out.Tasks, taskResult{t.Type, t.Target, t.Status, t.Added, t.Updated, t.Deleted, t.Note,
				t.Error})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(out.Rejected) > 0 {
		out.Status = Partial
	}
	out.Text = fmt.Sprintf("%d tasks ran, %d rejected: %s", len(out.Tasks), len(out.Rejected), out.Status)
	raw, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the task results: %w", err)
	}
	return s.Loop.Tell(ctx, in.Ref(), in.Step, in.Position, Result{OK: true, JSON: raw})
}

// taskResult is the result of a task as the summarizer reads it.
type taskResult struct {
	Type    memory.Type `json:"memory_type"`
	Target  string      `json:"memory_target"`
	Status  string      `json:"status"`
	Added   []string    `json:"added"`
	Updated []string    `json:"updated"`
	Deleted []string    `json:"deleted"`
	Note    string      `json:"note,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// TakeTarget takes the lease of the target of a specialist run. If another run has the lease, it
// returns Unavailable. If the run has ended, it returns its result without a lease.
func (s *Service) TakeTarget(ctx context.Context, in contract.AgentInput) (out contract.TakeTargetResult, err error) {
	r, a, w, err := s.leased(ctx, in.Ref())
	if err != nil {
		return out, err
	}
	if r.Status == run.Ended {
		out.Ended, err = endedOf(r)
		return out, err
	}
	lease, err := s.LongTerm.TakeLease(ctx, a, holder(r), contract.LeaseFor(w.Spec.Timeouts()))
	return contract.TakeTargetResult{Fence: lease.Fence}, err
}

// FreeTarget releases the lease.
func (s *Service) FreeTarget(ctx context.Context, in contract.TargetInput) error {
	r, a, _, err := s.leased(ctx, in.Ref())
	if err != nil {
		return err
	}
	return s.LongTerm.FreeLease(ctx, a, memory.Lease{Holder: holder(r), Fence: in.Fence})
}

func (s *Service) leased(ctx context.Context, ref run.Ref) (r run.Run, a agent.Actor, w agentrun.RunView, err error) {
	if r, err = s.run(ctx, ref); err != nil {
		return r, a, w, err
	}
	w, p, err := pinnedOf(r)
	if err != nil {
		return r, a, w, err
	}
	if r.Kind != run.Specialist {
		return r, a, w, fault.Newf(fault.InvalidArgument, "run %s is not a specialist and has no target", ref.Run)
	}
	a = actor(w, "lease", 0)
	a.Subject = agent.MemoryScope{Type: string(p.Type), Target: p.Target}
	return r, a, w, nil
}

func (s *Service) run(ctx context.Context, ref run.Ref) (r run.Run, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err = tx.Runs().Run(ctx, ref.Run)
		return err
	})
	return r, err
}
