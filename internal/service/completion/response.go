package completion

import (
	"context"
	"encoding/hex"
	"fmt"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
)

// Response returns a response that a client may read.
func (s *Service) Response(ctx context.Context, ref run.Ref) (out domainconversation.Response, err error) {
	if !run.ValidID(ref.Run) {
		return out, domainconversation.ErrNoResponse(ref)
	}
	return s.Store.Response(ctx, ref)
}

// Delete makes a response unreadable. The messages of the conversation remain.
func (s *Service) Delete(ctx context.Context, ref run.Ref) error {
	if _, err := s.Response(ctx, ref); err != nil {
		return err
	}
	return s.Store.DeleteResponse(ctx, ref)
}

// AcceptedResponse returns the accepted request of a response.
func AcceptedResponse(r domainconversation.Response, workspaceKey string) (out Accepted) {
	out.Run.Ref, out.Turn.AcceptedAt, out.Turn.Ended = r.Run, r.CreatedAt, r.EndedAt != nil
	out.Request = conversation.Request{Workspace: r.Run.Workspace, WorkspaceKey: workspaceKey,
		Conversation: r.Conversation, MessageID: r.Message}
	return out
}

// follow places a request after the turn of a response: in its conversation if no other turn follows, else
// in a new one with the same messages before.
func (s *Service) follow(ctx context.Context, r Request, out *conversation.Request) error {
	before, err := s.Response(ctx, run.Ref{Workspace: r.Workspace, Run: r.After})
	if err != nil {
		return err
	}
	if before.EndedAt == nil {
		return fault.New(fault.InvalidArgument, "the previous response has not ended",
			"wait until its status is completed")
	}
	ended, err := s.Store.Outcome(ctx, before.Run)
	if err != nil {
		return err
	}
	if err := answers(r.Messages, ended.Calls); err != nil {
		return err
	}
	sha := shaOf([]string{"after", r.After})
	out.History.Thread, out.History.SHA = hex.EncodeToString(sha[:]), shaOf([]any{r.After, historySHA(r.Messages)})
	if out.Inputs = r.Messages; before.Last {
		out.Conversation, out.History.Turn = before.Conversation, before.Number+1
		return nil
	}
	branch := shaOf([]string{out.History.Thread, out.MessageID})
	out.Conversation, out.History.Turn = "chat-"+hex.EncodeToString(branch[:10]), 1
	out.History.Earlier, err = s.Store.Messages(ctx, r.Workspace, before.Conversation, before.Number, imported)
	return err
}

// answers returns an error if a message is the result of a call that was not made.
func answers(ms []transcript.Message, calls []transcript.ToolCall) error {
	open := map[string]bool{}
	for _, c := range calls {
		open[c.ID] = true
	}
	for _, m := range ms {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == transcript.Tool && !open[m.ToolCallID] {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("result of an unknown call %.80q", m.ToolCallID),
				"send it after the message with the call")
		}
	}
	return nil
}
