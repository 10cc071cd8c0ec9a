package postgres

import (
	"context"
	"crypto/sha256"
	"slices"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
)

// PutImported stores a turn that has ended, without a run.
func (q turnRepository) PutImported(ctx context.Context, t agentrun.Turn) error {
	sha := sha256.Sum256(nil) // it is never sent again
	return classify("import a turn", q.q.TurnImport(ctx, dbsqlc.TurnImportParams{WorkspaceID: q.ws,
		ConversationID: t.Conversation, Number: int32(t.Number), MessageID: storable(t.MessageID), Mode: t.Mode,
		Origin: t.Origin, ArgsSha: sha[:], FirstSeq: int32(t.FirstSeq), Reason: t.Reason}))
}

// PutHistory stores what the request of a turn stated about its conversation. It returns ErrMoved if an
// equal request was accepted meanwhile.
func (q turnRepository) PutHistory(ctx context.Context, t agentrun.Turn, h conversation.History) error {
	n, err := q.q.TurnRequestPut(ctx, dbsqlc.TurnRequestPutParams{WorkspaceID: q.ws, ConversationID: t.Conversation,
		Number: int32(t.Number), Thread: storable(h.Thread), HistorySha: h.SHA[:], BodySha: h.Body[:],
		Times: int32(h.Times)})
	if err == nil && n == 0 {
		return conversation.ErrMoved
	}
	return classify("store the request of a turn", err)
}

type completionStore struct{ *Store }

// Completions returns the store of the service completion.
func (s *Store) Completions() completion.Store { return completionStore{s} }

// failures are the reasons of turns without a reply of a model.
var failures = []string{string(agent.ProviderError), string(agent.OverBudget), string(agent.Lost)}

// Same returns the latest turn of an equal request.
func (s completionStore) Same(ctx context.Context, ws int64, body [32]byte) (out completion.Same, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.TurnRequestSame(ctx, dbsqlc.TurnRequestSameParams{WorkspaceID: q.ws, BodySha: body[:]})
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return classify("find an equal request", err)
		}
		out = completion.Same{Conversation: r.ExternalID, Message: r.MessageID, Times: int(r.Times),
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
func (s completionStore) Before(ctx context.Context, ws int64, thread string, history [32]byte, max int) (
	out []completion.Turn, err error) {
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
func (s completionStore) Last(ctx context.Context, ws int64, name string) (out completion.Turn, known bool, err error) {
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

func lastTurn(name string, number int32, id *string, status, reason, reply string) completion.Turn {
	t := completion.Turn{Conversation: name, Number: int(number), Ended: run.Status(status) == run.Ended,
		Interrupted: agent.Reason(reason) == agent.Interrupted, Reply: reply}
	if id != nil {
		t.Run = *id
	}
	return t
}

// Outcome reads what a client gets of a run besides its text.
func (s completionStore) Outcome(ctx context.Context, ref run.Ref) (out completion.Outcome, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		r, err := q.q.RunOutcome(ctx, dbsqlc.RunOutcomeParams{WorkspaceID: q.ws, ID: ref.Run})
		if err != nil {
			return noRun(ref.Run, err)
		}
		out = completion.Outcome{Ended: run.Status(r.Status) == run.Ended, Detail: r.Reason, Finish: r.Finish,
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
func (s completionStore) Watch(ctx context.Context, ref run.Ref, watcher string) error {
	return s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		n, err := q.q.TurnRequestWatch(ctx, dbsqlc.TurnRequestWatchParams{Watcher: watcher, WorkspaceID: q.ws,
			RunID: &ref.Run})
		return oneRow("record who waits for a reply", n, err)
	})
}

// Watcher returns the latest request that waits for the reply of a run.
func (s completionStore) Watcher(ctx context.Context, ref run.Ref) (watcher string, err error) {
	err = s.within(ctx, byKeys, ref.Workspace, func(ctx context.Context, q Tx) error {
		watcher, err = q.q.TurnRequestWatched(ctx, dbsqlc.TurnRequestWatchedParams{WorkspaceID: q.ws, RunID: &ref.Run})
		return classify("read who waits for a reply", err)
	})
	return watcher, err
}
