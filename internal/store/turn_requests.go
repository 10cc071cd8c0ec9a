package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// PutImported stores a turn that has ended, without a run.
func (q TurnRepository) PutImported(ctx context.Context, t conversation.Turn) error {
	sha := sha256.Sum256(nil) // it is never sent again
	return classify("import a turn", q.q.TurnImport(ctx, dbsqlc.TurnImportParams{WorkspaceID: q.ws,
		ConversationID: t.Conversation, Number: int32(t.Number), MessageID: storable(t.MessageID), Mode: t.Mode,
		Origin: t.Origin, ArgsSha: sha[:], FirstSeq: int32(t.FirstSeq), Reason: t.Reason}))
}

// PutHistory stores what the request of a turn stated about its conversation. It returns ErrMoved if an
// equal request was accepted meanwhile.
func (q TurnRepository) PutHistory(ctx context.Context, t conversation.Turn, h conversation.History) error {
	n, err := q.q.TurnRequestPut(ctx, dbsqlc.TurnRequestPutParams{WorkspaceID: q.ws, ConversationID: t.Conversation,
		Number: int32(t.Number), Thread: storable(h.Thread), HistorySha: h.SHA[:], BodySha: h.Body[:],
		Times: int32(h.Times)})
	if err == nil && n == 0 {
		return conversation.ErrMoved
	}
	return classify("store the request of a turn", err)
}

// Completions has the requests and responses of model protocols.
type Completions struct{ *Store }

// Completions returns the store of the service completion.
func (s *Store) Completions() Completions { return Completions{s} }

// failures are the reasons of turns without a reply of a model.
var failures = []string{string(agent.ProviderError), string(agent.OverBudget), string(agent.Lost)}

// Same returns the latest turn of an equal request.
func (s Completions) Same(ctx context.Context, ws int64, body [32]byte) (out conversation.SameRequest, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.TurnRequestSame(ctx, dbsqlc.TurnRequestSameParams{WorkspaceID: q.ws, BodySha: body[:]})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("find an equal request", err)
		}
		out = conversation.SameRequest{Conversation: r.ExternalID, Message: r.MessageID, Times: int(r.Times),
			Ended: run.Status(r.Status) == run.Ended, Failed: slices.Contains(failures, r.Reason),
			Age: r.Now.Sub(r.CreatedAt)}
		if r.RunID != nil {
			out.Run = *r.RunID
		}
		if r.EndedAt != nil {
			out.EndedFor = r.Now.Sub(*r.EndedAt)
		}
		return nil
	})
	return out, err
}

// Before returns the last turns of conversations with a history, the latest conversation first.
func (s Completions) Before(ctx context.Context, ws int64, thread string, history [32]byte, max int) (
	out []conversation.EarlierTurn, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.TurnRequestsBefore(ctx, dbsqlc.TurnRequestsBeforeParams{WorkspaceID: q.ws,
			Thread: storable(thread), HistorySha: history[:], MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, lastTurn(r.ExternalID, r.Number, r.RunID, string(run.Ended), r.Reason, r.Reply))
		}
		return classify("find the turns of a history", err)
	})
	return out, err
}

// Last returns the last turn of a conversation.
func (s Completions) Last(ctx context.Context, ws int64, name string) (out conversation.EarlierTurn, known bool,
	err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.TurnLast(ctx, dbsqlc.TurnLastParams{WorkspaceID: q.ws, ExternalID: storable(name)})
		if isNoRows(err) {
			return nil
		}
		known = err == nil
		out = lastTurn(name, r.Number, r.RunID, r.Status, r.Reason, r.Reply)
		out.Said = r.Said
		return classify("find the last turn", err)
	})
	return out, known, err
}

func lastTurn(name string, number int32, id *string, status, reason, reply string) conversation.EarlierTurn {
	t := conversation.EarlierTurn{Conversation: name, Number: int(number), Ended: run.Status(status) == run.Ended,
		Interrupted: agent.Reason(reason) == agent.Interrupted, Reply: reply}
	if id != nil {
		t.Run = *id
	}
	return t
}

// Outcome reads what a client gets of a run besides its text.
func (s Completions) Outcome(ctx context.Context, ref run.Ref) (out conversation.TurnOutcome, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		r, err := q.q.RunOutcome(ctx, dbsqlc.RunOutcomeParams{WorkspaceID: q.ws, ID: ref.Run})
		if err != nil {
			return noRun(ref.Run, err)
		}
		out = conversation.TurnOutcome{Ended: run.Status(r.Status) == run.Ended, Detail: r.Reason, Finish: r.Finish,
			Input: r.InputTokens, Output: r.OutputTokens}
		calls, err := q.q.ClientCalls(ctx, dbsqlc.ClientCallsParams{WorkspaceID: q.ws, RunID: ref.Run})
		for _, c := range calls {
			out.Calls = append(out.Calls, transcript.ToolCall{ID: c.CallID, Name: c.Tool, Arguments: c.Arguments})
		}
		return classify("read the calls of a client's tools", err)
	})
	return out, err
}

// Watch records the latest request that waits for the reply of a run.
func (s Completions) Watch(ctx context.Context, ref run.Ref, watcher string) error {
	return s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		n, err := q.q.TurnRequestWatch(ctx, dbsqlc.TurnRequestWatchParams{Watcher: watcher, WorkspaceID: q.ws,
			RunID: &ref.Run})
		return oneRow("record who waits for a reply", n, err)
	})
}

// Watcher returns the latest request that waits for the reply of a run.
func (s Completions) Watcher(ctx context.Context, ref run.Ref) (watcher string, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		watcher, err = q.q.TurnRequestWatched(ctx, dbsqlc.TurnRequestWatchedParams{WorkspaceID: q.ws, RunID: &ref.Run})
		return classify("read who waits for a reply", err)
	})
	return watcher, err
}

// Response returns the turn of a response.
func (s Completions) Response(ctx context.Context, ref run.Ref) (out conversation.Response, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		r, err := q.q.ResponseGet(ctx, dbsqlc.ResponseGetParams{WorkspaceID: q.ws, RunID: &ref.Run})
		if isNoRows(err) {
			return conversation.ErrNoResponse(ref)
		}
		out = conversation.Response{Run: ref, Conversation: r.ExternalID, Message: r.MessageID, Number: int(r.Number),
			Last: r.Last, Shown: r.Shown, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
		return classify("read the response", err)
	})
	return out, err
}

// DeleteResponse makes a response unreadable.
func (s Completions) DeleteResponse(ctx context.Context, ref run.Ref) error {
	return s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		n, err := q.q.ResponseDelete(ctx, dbsqlc.ResponseDeleteParams{WorkspaceID: q.ws, RunID: &ref.Run})
		return oneRow("delete the response", n, err)
	})
}

// Messages returns the latest messages of a conversation up to the end of a turn, the oldest first.
func (s Completions) Messages(ctx context.Context, ws int64, conversation string, turn, max int) (
	out []transcript.Message, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.MessagesUpToTurn(ctx, dbsqlc.MessagesUpToTurnParams{WorkspaceID: q.ws,
			ExternalID: storable(conversation), Turn: int32(turn), MaxRows: int32(max)})
		if err != nil {
			return classify("read the messages", err)
		}
		for _, r := range slices.Backward(rows) {
			m := transcript.Message{Role: transcript.Role(r.Role), Content: r.Content, Name: r.Name,
				ToolCallID: r.ToolCallID}
			if err := json.Unmarshal(r.ToolCalls, &m.ToolCalls); err != nil {
				return fmt.Errorf("decode the tool calls of a message: %w", err)
			}
			out = append(out, m)
		}
		return nil
	})
	return out, err
}

// SameTask returns the latest run with a key.
func (s Completions) SameTask(ctx context.Context, ws int64, key string) (out conversation.SameRequest, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.CompletionSame(ctx, dbsqlc.CompletionSameParams{WorkspaceID: q.ws, BusinessKey: storable(key)})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("find an equal request", err)
		}
		failed := []run.Outcome{run.Failed, run.OverBudget}
		out = conversation.SameRequest{Message: key, Run: r.ID, Times: int(r.Generation), Age: r.Now.Sub(r.CreatedAt),
			Ended: run.Status(r.Status) == run.Ended, Failed: slices.Contains(failed, run.Outcome(r.Outcome))}
		if r.EndedAt != nil {
			out.EndedFor = r.Now.Sub(*r.EndedAt)
		}
		return nil
	})
	return out, err
}

// PutTask stores the run of a task and the outbox task that drives it.
func (s Completions) PutTask(ctx context.Context, ws int64, t conversation.NewTask) (out run.Run, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		id, err := q.q.AgentRunPut(ctx, dbsqlc.AgentRunPutParams{WorkspaceID: q.ws, ID: run.NewID(),
			Kind: string(run.Completion), BusinessKey: storable(t.Key), Generation: int32(t.Generation),
			ArgsSha: t.SHA[:], Spec: t.Spec, WorkflowID: t.WorkflowID})
		if err != nil {
			return classify("record the run", err)
		}
		if out, err = q.Runs().Run(ctx, id); err != nil || out.Status == run.Ended {
			return err
		}
		return q.Runs().EnqueueRun(ctx, id)
	})
	return out, err
}

// Task returns the run of a task.
func (s Completions) Task(ctx context.Context, ref run.Ref) (out run.Run, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		out, err = q.Runs().Run(ctx, ref.Run)
		return err
	})
	return out, err
}
