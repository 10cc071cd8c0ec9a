package inspect

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
	"cairn/internal/service/offload"
	"cairn/internal/store"
)

// RunReport is the status of a run of any kind.
type RunReport struct {
	distill.Report
	Kind  run.Kind     `json:"kind"`
	Agent *AgentReport `json:"agent,omitempty"` // set for turns and reviews

	Offload *offload.CompactionResult `json:"offload,omitempty"` // set for compactions that have ended
}

// AgentReport is the status of a turn or a review.
type AgentReport struct {
	conversation.Progress
	Conversation string `json:"conversation"`
	MessageID    string `json:"message_id,omitempty"` // of a turn
	Turn         int    `json:"turn,omitempty"`
	// Record is, for a turn, the run that created the record at the start of its prompt.
	Record string      `json:"record_run,omitempty"`
	Reason string      `json:"reason,omitempty"` // why it ended
	Detail string      `json:"detail,omitempty"`
	Result string      `json:"result,omitempty"` // of a review: saved, nothing, budget or failed
	Reply  string      `json:"reply,omitempty"`
	Writes []run.Write `json:"writes,omitempty"`
	Staged int         `json:"staged,omitempty" doc:"Proposed changes that need approval"`
}

// RunPorts are the dependencies of Runs.
type RunPorts struct {
	Store     *store.Store
	Distill   *distill.Service
	Workflows RunWorkflows // nil without Temporal
}

// Runs reads runs of all kinds.
type Runs struct{ RunPorts }

// NewRuns returns a Runs.
func NewRuns(p RunPorts) *Runs {
	return &Runs{RunPorts: p}
}

// List returns the latest runs, newest first.
func (s *Runs) List(ctx context.Context, ws int64, max int) (out []run.Summary, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		out, err = q.Runs().Runs(ctx, max)
		return err
	})
	return out, err
}

// Progress returns the progress of a turn or a review.
func (s *Runs) Progress(ctx context.Context, ref run.Ref) (out conversation.Progress, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		out, err = q.ConversationViews().AgentProgress(ctx, ref.Run)
		return err
	})
	return out, err
}

// KindOf returns the kind of a run.
func (s *Runs) KindOf(ctx context.Context, ref run.Ref) (kind run.Kind, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		r, err := q.Runs().RunState(ctx, ref.Run)
		kind = r.Kind
		return err
	})
	return kind, err
}

// insteadOfRetry is what to do instead of a retry of a run. Distillations can be retried.
var insteadOfRetry = map[run.Kind]string{
	run.Turn:       "send the text again as a new message",
	run.Nudge:      "wait for the next review of the conversation, which starts by itself",
	run.Summarize:  "add the session again with another request ID",
	run.Specialist: "add the session that it belongs to again, with another request ID",
	run.Retrieve:   "ask the question again with another request ID",
	run.Completion: "send the request again",
	run.Reflection: "run `cairn reflect now` with the date, which repeats a failed one",
	run.Offload:    "send the thread again, or wait for the next compaction of the conversation",
	run.Flush:      "wait for the next compaction of the conversation, which starts by itself",
	run.Build:      "build the session again with another ID",
	run.Train:      "run `cairn train` again with another --seed",
	run.Evolve:     "run `cairn evolve`, which starts the next round",
	run.Adapt:      "wait for the next update, which starts by itself when enough decisions are rated",
	run.Probe:      "wait for the next build, which asks its own questions",
	run.Evaluate:   "run `cairn eval memskill` again with another --seed",
}

// Retriable returns an error for runs that cannot be retried by number, with what to do instead.
func (s *Runs) Retriable(ctx context.Context, ref run.Ref) error {
	kind, err := s.KindOf(ctx, ref)
	if err == nil && kind != run.Distill {
		err = fault.New(fault.InvalidArgument, fmt.Sprintf("run %s is a %s and cannot be retried", ref.Run, kind),
			insteadOfRetry[kind])
	}
	return err
}

// Report returns the status of a run of any kind.
func (s *Runs) Report(ctx context.Context, ref run.Ref) (out RunReport, err error) {
	if out.Kind, err = s.KindOf(ctx, ref); err != nil {
		return out, err
	}
	if out.Kind == run.Distill {
		out.Report, err = s.Distill.Report(ctx, ref)
		return out, err
	}
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		if out.Agent, out.Report, err = agentReport(ctx, q, ref); err != nil {
			return err
		}
		if out.Kind == run.Offload && out.Report.Status == run.Ended {
			r, err := q.Runs().Run(ctx, ref.Run)
			if err != nil {
				return err
			}
			if out.Offload, err = offload.ResultOf(r); err != nil {
				return err
			}
		}
		if out.Report.Usage, err = q.Runs().Usage(ctx, ref.Run); err != nil {
			return err
		}
		out.Report.Calls, err = q.Calls().Calls(ctx, ref)
		return err
	})
	return out, err
}

// AgentReport returns the status of a turn or a review.
func (s *Runs) AgentReport(ctx context.Context, ref run.Ref) (out *AgentReport, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, q store.Tx) error {
		out, _, err = agentReport(ctx, q, ref)
		return err
	})
	return out, err
}

func agentReport(ctx context.Context, q store.Tx, ref run.Ref) (*AgentReport, distill.Report, error) {
	r, err := q.Runs().Run(ctx, ref.Run)
	if err != nil {
		return nil, distill.Report{}, err
	}
	out := &AgentReport{}
	if out.Progress, err = q.ConversationViews().AgentProgress(ctx, ref.Run); err != nil {
		return nil, distill.Report{}, err
	}
	var name, title string
	if r.Conversation != 0 { // questions have no conversation
		if name, title, err = q.ConversationViews().ConversationName(ctx, r.Conversation); err != nil {
			return nil, distill.Report{}, err
		}
	}
	about := distill.Report{
		Run:        ref.Run,
		Request:    r.Key,
		Title:      title,
		Status:     r.Status,
		Outcome:    r.Outcome,
		Reason:     r.Reason,
		Pruned:     r.Pruned,
		WorkflowID: r.WorkflowID,
		CreatedAt:  r.CreatedAt,
		Tasks:      []distill.TaskReport{},
	}
	if r.StartedAt != nil && r.EndedAt != nil {
		about.Seconds = r.EndedAt.Sub(*r.StartedAt).Seconds()
	}
	out.Conversation = name
	var ended run.Result
	if r.Status == run.Ended {
		if err := json.Unmarshal(r.Result, &ended); err != nil {
			return nil, about, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
		}
		out.Reason, out.Detail, out.Writes, out.Staged, out.Result = string(ended.Reason), ended.Detail, ended.Writes,
			ended.Staged, ended.Status
	}
	if r.Kind != run.Turn {
		return out, about, nil
	}
	t, err := q.Turns().TurnOfRun(ctx, ref.Run)
	if err != nil {
		return nil, about, err
	}
	out.MessageID, out.Turn = t.MessageID, t.Number
	record, err := q.Offloads().Record(ctx, ref.Run)
	if err != nil {
		return nil, about, err
	}
	out.Record = record.Run
	if t.ReplySeq >= 0 && r.Status == run.Ended {
		out.Reply, err = q.ConversationViews().MessageText(ctx, t.Conversation, t.ReplySeq)
	}
	return out, about, err
}
