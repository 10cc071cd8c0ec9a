package memoryagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Report is the state of a summarize request, as its caller sees it.
type Report struct {
	Run        string       `json:"run"`
	Request    string       `json:"request_id"`
	WorkflowID string       `json:"workflow_id"`
	State      run.Status   `json:"state"`            // accepted, running, ended
	Status     string       `json:"status,omitempty"` // ok no_memory partial failed, once it has ended
	Reason     agent.Reason `json:"reason,omitempty"` // why it ended; "final" means that the agent finished
	Detail     string       `json:"detail,omitempty"`
	Text       string       `json:"text,omitempty"`
	Add        string       `json:"add"` // how the session is added: fast or agents
	Summary
	Steps int       `json:"steps"`
	Usage run.Usage `json:"usage"` // of the run itself, without its tasks

	Metadata map[string]any `json:"metadata,omitempty"` // as sent with the session
}

// Report returns the state and the result of a request.
func (s *Service) Report(ctx context.Context, ref run.Ref) (out Report, err error) {
	var r run.Run
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if r, err = tx.Runs().Run(ctx, ref.Run); err != nil {
			return err
		}
		out.Usage, err = tx.Runs().Usage(ctx, ref.Run)
		return err
	})
	if err != nil {
		return out, err
	}
	if r.Kind != run.Summarize {
		return out, fault.New(fault.NotFound,
			fmt.Sprintf("run %s is not a summarize request: its kind is %q", ref.Run, r.Kind),
			"use `cairn runs show RUN`, which shows runs of any kind")
	}
	out.Run, out.Request, out.WorkflowID, out.State = ref.Run, r.Key, r.WorkflowID, r.Status
	_, p, err := pinnedOf(r)
	if err != nil {
		return out, err
	}
	out.Metadata, out.Add = p.Metadata, cmp.Or(p.Way, settings.AddAgents)
	if r.Status != run.Ended {
		out.Tasks, err = s.tasks(ctx, r)
		return out, err
	}
	var e run.Result
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
	}
	if len(e.Report) > 0 {
		if err := json.Unmarshal(e.Report, &out.Summary); err != nil {
			return out, fmt.Errorf("decode the report of run %s: %w", ref.Run, err)
		}
	}
	out.Status, out.Reason, out.Detail, out.Text, out.Steps = e.Status, e.Reason, e.Detail, e.Text, e.Steps
	return out, nil
}

// Undo reverts the changes that a summarize request and its specialists, or a run of another kind, made to memories.
// Entries that were changed later are skipped. It requires a user.
func (s *Service) Undo(ctx context.Context, a agent.Actor, id string) (out []memory.ItemResult, err error) {
	r, err := s.RequestOf(ctx, a.Workspace, id)
	if fault.CodeOf(err) == fault.NotFound {
		r, err = s.runOf(ctx, a.Workspace, id, err)
	}
	if err != nil {
		return nil, err
	}
	in := memory.UndoArgs{Run: r.Ref.Run}
	switch {
	case r.Kind == run.Retrieve:
		return nil, fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("request %q is a question and has no changes to undo", id),
			"use the ID of a summarize request or of a run",
		)
	case r.Status != run.Ended:
		return nil, fault.New(
			fault.Unavailable,
			fmt.Sprintf("request %q has not ended yet", id),
			"try again after it has ended",
		)
	}
	err = s.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		children, err := tx.AgentRuns().Children(ctx, r.Ref.Run)
		in.With = nil
		for _, c := range children {
			in.With = append(in.With, c.Ref.Run)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.LongTerm.Undo(ctx, a, in)
}

// runOf returns the run with an ID, or unknown if there is none.
func (s *Service) runOf(ctx context.Context, ws int64, id string, unknown error) (out run.Run, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Runs().Run(ctx, id)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		err = unknown
	}
	return out, err
}
