package completion

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/tools"
)

// task is the part of a run's configuration that only tasks have.
type task struct {
	Messages []transcript.Message `json:"messages"`
}

// acceptTask stores a request as a run without a conversation, or returns the run of an equal request
// that it repeats.
func (s *Service) acceptTask(ctx context.Context, r Request) (out Accepted, err error) {
	if len(r.Messages) == 0 {
		return out, fault.New(fault.InvalidArgument, "no message to answer", "end messages with a user message")
	}
	if r.Message != "" {
		if err := conversation.CheckID("message", r.Message); err != nil {
			return out, err
		}
	}
	chosen, err := s.Workspaces.Settings(ctx, r.Workspace)
	if err != nil {
		return out, err
	}
	made := domainconversation.NewTask{Key: cmp.Or(r.Message, "api-"+hex.EncodeToString(r.Body[:16]))}
	if made.Spec, err = r.pinTask(!chosen.RedactTurns); err != nil {
		return out, err
	}
	asked, err := json.Marshal([]any{r.Spec.Model, r.Spec.Client, r.Messages})
	if err != nil {
		return out, fmt.Errorf("encode the request: %w", err)
	}
	made.SHA = sha256.Sum256(asked)
	same, err := s.Store.SameTask(ctx, r.Workspace, made.Key)
	if err != nil {
		return out, err
	}
	if made.Generation = same.Times; !repeats(r, same) {
		made.Generation++
	}
	made.WorkflowID = contract.CompletionID(r.WorkspaceKey, contract.VisibleKey(made.Key), made.Generation)
	out.Request = conversation.Request{Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey, MessageID: made.Key}
	if out.Run, err = s.Store.PutTask(ctx, r.Workspace, made); err != nil {
		return out, err
	}
	if out.Run.ArgsSHA != made.SHA {
		return out, fault.New(fault.OpReused, fmt.Sprintf("message ID %q was used with another request", made.Key),
			"use a new message ID, or repeat the original request")
	}
	out.Turn = domainconversation.Turn{Run: out.Run.Ref.Run, AcceptedAt: out.Run.CreatedAt,
		Ended: out.Run.Status == run.Ended}
	return out, nil
}

// pinTask returns the configuration of the run of a task.
func (r Request) pinTask(plain bool) (json.RawMessage, error) {
	pinned, err := json.Marshal(task{r.Messages})
	if err != nil {
		return nil, fmt.Errorf("encode the messages: %w", err)
	}
	spec := r.Spec
	spec.Origin, spec.Channel, spec.Pinned, spec.PlainTurns = agent.OriginAgent, agent.ChannelChat, pinned, plain
	spec.Lang = lang.OfMessages(r.Messages)
	// The one reply may call tools of the client.
	spec.Budget = agent.Budget{Max: 1, RunLast: true, Wall: agent.ForChannel(agent.ChannelChat).Wall}
	return spec.Encode()
}

// taskStatus returns the status of a task.
func (s *Service) taskStatus(ctx context.Context, ref run.Ref) (out domainconversation.TurnStatus, err error) {
	r, err := s.Store.Task(ctx, ref)
	if err != nil {
		return out, err
	}
	out = domainconversation.TurnStatus{Run: ref.Run, Status: string(r.Status)}
	if r.Status != run.Ended {
		return out, nil
	}
	var result run.Result
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
	}
	out.Reason, out.Reply = string(result.Reason), result.Text
	return out, nil
}

// Input returns the input of the workflow of a task.
func Input(workspaceKey string, r run.Run) (contract.AgentInput, error) {
	spec, err := agentrun.SpecOf(r)
	return contract.AgentInput{RunRef: contract.RefOf(workspaceKey, r), Kind: string(r.Kind), Budget: spec.Budget,
		Timeouts: spec.Timeouts(), Queue: contract.QueueLLM}, err
}

// TaskAgent asks the model for the reply of a task. Its runs have no tools of Cairn and no memory.
type TaskAgent struct{}

var _ agentrun.Agent = TaskAgent{}

// Tools returns no tools.
func (TaskAgent) Tools(agentrun.RunView) (agentrun.Tools, error) { return tools.NewRegistry() }

// Subject returns no memory scope.
func (TaskAgent) Subject(context.Context, agentrun.RunView, int64) (out agent.MemoryScope, err error) {
	return out, nil
}

// Brief returns the messages of the request.
func (TaskAgent) Brief(_ context.Context, w agentrun.RunView, _ bool) (out agentrun.PromptInput, err error) {
	var t task
	if err := json.Unmarshal(w.Spec.Pinned, &t); err != nil {
		return out, fmt.Errorf("decode the messages of run %s: %w", w.Run.Ref.Run, err)
	}
	all := append([]transcript.Message{{Role: transcript.System, Content: w.Spec.Client.Instructions}}, t.Messages...)
	if !w.Spec.PlainTurns {
		all, _ = guard.NewRedactor(guard.Options{}).Messages(all)
	}
	out.System = all[0].Content
	for _, m := range all[1:] {
		one := llm.Message{Role: string(m.Role), Content: m.Content, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			one.Calls = append(one.Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		out.Messages = append(out.Messages, one)
	}
	return out, nil
}

// Finish does nothing.
func (TaskAgent) Finish(context.Context, agentrun.RunView, run.Result) (out json.RawMessage, err error) {
	return out, nil
}

// Result sets the detail of a failure as the reason of the run.
func (TaskAgent) Result(_ agentrun.RunView, _ json.RawMessage, e *run.Result) (run.Outcome, error) {
	e.Status = e.Detail
	return agentrun.OutcomeOf(e.Reason), nil
}
