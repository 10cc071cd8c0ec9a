package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/ledger"
	"cairn/internal/llm"
	"cairn/internal/run"
	"cairn/internal/settings"
	"cairn/internal/store/dbsqlc"
)

var _ ledger.Store = (*Store)(nil)

// BeginCall decides, in one transaction, whether w may be sent. The run's row is
// locked while it decides, so that two calls never both take the last place.
func (s *Store) BeginCall(ctx context.Context, w ledger.Wish) (t ledger.Ticket, err error) {
	err = s.WithWorkspace(ctx, w.Key.Workspace, func(q Queries) error {
		if _, err := q.q.RunLock(ctx, dbsqlc.RunLockParams{WorkspaceID: q.ws, ID: w.Key.Run}); err != nil {
			return fmt.Errorf("lock run %d: %w", w.Key.Run, err)
		}
		row, err := q.q.CallGet(ctx, dbsqlc.CallGetParams{WorkspaceID: q.ws, RunID: w.Key.Run, Step: w.Key.Step, Round: int32(w.Key.Round)})
		known := err == nil
		if err != nil && !isNoRows(err) {
			return fmt.Errorf("read the call: %w", err)
		}
		switch {
		case known && row.State == string(run.CallDone):
			t.Verdict = ledger.Stored
			t.Reply, err = storedReply(dbsqlc.CallReplyRow{Reply: row.Reply, ToolCalls: row.ToolCalls, Refusal: row.Refusal, Finish: row.Finish, ReplyModel: row.ReplyModel,
				InputTokens: row.InputTokens, OutputTokens: row.OutputTokens, Estimated: row.Estimated})
			return err
		case known && row.State == string(run.CallStarted) && row.Leased:
			t = ledger.Ticket{Verdict: ledger.Busy, Wait: time.Duration(row.LeaseSeconds * float64(time.Second))}
			return nil
		}
		room, err := q.q.CallRoom(ctx, dbsqlc.CallRoomParams{WorkspaceID: q.ws, RunID: w.Key.Run})
		if err != nil {
			return fmt.Errorf("read the limits: %w", err)
		}
		if w.Parallel > 0 && room.InFlight >= int64(w.Parallel) {
			t = ledger.Ticket{Verdict: ledger.Full}
			return nil
		}
		limits, err := settings.Read(room.Settings)
		if err != nil {
			return err
		}
		if reason, err := q.overBudget(ctx, w, limits); err != nil || reason != "" {
			t = ledger.Ticket{Verdict: ledger.OverBudget, Reason: reason}
			return err
		}
		t.Verdict = ledger.Send
		if !known {
			t.Request = w.Request
			return q.insertCall(ctx, w)
		}
		t.Request = llm.Prepared{Model: row.Model, Body: json.RawMessage(row.Request)}
		if err := json.Unmarshal(row.Label, &t.Request.Label); err != nil {
			return fmt.Errorf("decode the label: %w", err)
		}
		n, err := q.q.CallTakeOver(ctx, dbsqlc.CallTakeOverParams{Holder: w.Holder, Lease: w.Lease, Reserved: w.Reserve, ReservedMicros: w.Micros,
			WorkspaceID: q.ws, RunID: w.Key.Run, Step: w.Key.Step, Round: int32(w.Key.Round)})
		return oneRow("take over the call", n, err)
	})
	return t, err
}

// overBudget says why what w may need does not fit into the workspace's day.
func (q Queries) overBudget(ctx context.Context, w ledger.Wish, limits Settings) (string, error) {
	if limits.TokensPerDay == 0 && limits.MicrosPerDay == 0 {
		return "", nil
	}
	if err := q.q.BudgetLock(ctx, q.ws); err != nil {
		return "", fmt.Errorf("lock the budget: %w", err)
	}
	day, err := q.q.BudgetToday(ctx, q.ws)
	if err != nil {
		return "", fmt.Errorf("add up the day: %w", err)
	}
	if limits.TokensPerDay > 0 && day.Tokens+w.Reserve > limits.TokensPerDay {
		return fmt.Sprintf("the workspace has used or reserved %d of its %d tokens today, this call may need %d", day.Tokens, limits.TokensPerDay, w.Reserve), nil
	}
	if limits.MicrosPerDay > 0 && day.CostMicros+max(w.Micros, 1) > limits.MicrosPerDay {
		return fmt.Sprintf("the workspace has spent or reserved %d of its %d micro-dollars today, this call may need %d", day.CostMicros, limits.MicrosPerDay, w.Micros), nil
	}
	return "", nil
}

func (q Queries) insertCall(ctx context.Context, w ledger.Wish) error {
	label, err := encode("the label", w.Request.Label)
	if err != nil {
		return err
	}
	return q.q.CallInsert(ctx, dbsqlc.CallInsertParams{
		WorkspaceID: q.ws, RunID: w.Key.Run, Step: w.Key.Step, Round: int32(w.Key.Round), Stage: w.Request.Label.Stage, Model: w.Request.Model,
		Label: label, Request: string(w.Request.Body), RequestSha: w.SHA[:], Holder: w.Holder, Lease: w.Lease, Reserved: w.Reserve, ReservedMicros: w.Micros})
}

// ExtendCall keeps the lease of h alive; a lease that was lost stays lost.
func (s *Store) ExtendCall(ctx context.Context, k run.CallKey, h run.Holder, lease time.Duration) error {
	return s.WithWorkspace(ctx, k.Workspace, func(q Queries) error {
		_, err := q.q.CallExtend(ctx, dbsqlc.CallExtendParams{Lease: lease, WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round), Holder: h})
		return err
	})
}

// ReplaceCall stores what is sent instead of a request that was turned down unread.
func (s *Store) ReplaceCall(ctx context.Context, k run.CallKey, h run.Holder, p llm.Prepared, sha [sha256.Size]byte) error {
	return s.WithWorkspace(ctx, k.Workspace, func(q Queries) error {
		n, err := q.q.CallReplaceRequest(ctx, dbsqlc.CallReplaceRequestParams{Request: string(p.Body), RequestSha: sha[:],
			WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round), Holder: h})
		return oneRow("replace the request", n, err)
	})
}

// EndCall stores a reply and returns the one that counts: the first that was
// stored, whoever holds the lease.
func (s *Store) EndCall(ctx context.Context, k run.CallKey, r llm.Reply, cost *int64) (stored llm.Reply, err error) {
	stored = llm.Reply{Text: storable(r.Text), Refusal: storable(r.Refusal), Finish: storable(r.Finish), Model: storable(r.Model), Usage: r.Usage}
	calls, err := encode("the tool calls", append([]llm.ToolCall{}, r.Calls...)) // never null
	if err != nil {
		return stored, err
	}
	if stored.Calls, err = callsOf(calls); err != nil {
		return stored, err
	}
	err = s.WithWorkspace(ctx, k.Workspace, func(q Queries) error {
		n, err := q.q.CallDone(ctx, dbsqlc.CallDoneParams{Reply: &stored.Text, ToolCalls: calls, Refusal: stored.Refusal, Finish: stored.Finish, ReplyModel: stored.Model,
			InputTokens: int64(r.Usage.Input), OutputTokens: int64(r.Usage.Output), Estimated: r.Usage.Estimated, CostMicros: cost,
			WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round)})
		if err != nil || n == 1 {
			return err
		}
		row, err := q.q.CallReply(ctx, dbsqlc.CallReplyParams{WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round)})
		if err != nil {
			return fmt.Errorf("read the reply: %w", err)
		}
		stored, err = storedReply(row)
		return err
	})
	return stored, err
}

// FailCall records that h's request brought no reply. Unknown is set when the
// endpoint may have served it all the same.
func (s *Store) FailCall(ctx context.Context, k run.CallKey, h run.Holder, class, message string, unknown bool) error {
	n := int32(0)
	if unknown {
		n = 1
	}
	return s.WithWorkspace(ctx, k.Workspace, func(q Queries) error {
		_, err := q.q.CallFailed(ctx, dbsqlc.CallFailedParams{ErrorClass: class, Error: storable(message), Unknown: n,
			WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round), Holder: h})
		return err
	})
}

// Calls lists a run's ledger in the order in which the calls were first made.
func (q Queries) Calls(ctx context.Context, ref run.Ref) ([]run.Call, error) {
	rows, err := q.q.CallsOfRun(ctx, dbsqlc.CallsOfRunParams{WorkspaceID: q.ws, RunID: ref.Run})
	if err != nil {
		return nil, classify("list the calls", err)
	}
	out := make([]run.Call, len(rows))
	for i, r := range rows {
		out[i] = run.Call{Key: run.CallKey{Ref: ref, Step: r.Step, Round: int(r.Round)}, State: run.CallState(r.State), Stage: r.Stage, Model: r.Model,
			Attempts: int(r.Attempts), Unknown: int(r.Unknown), Input: r.InputTokens, Output: r.OutputTokens, Estimated: r.Estimated,
			CostMicros: r.CostMicros, ErrorClass: r.ErrorClass, Error: r.Error, StartedAt: r.CreatedAt, FinishedAt: r.FinishedAt}
	}
	return out, nil
}

// ExpireCalls makes calls visible as unknown whose lease ran out grace ago.
func (s *Store) ExpireCalls(ctx context.Context, grace time.Duration) (n int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err = q.CallsExpire(ctx, grace)
		return err
	})
	return n, err
}

func storedReply(r dbsqlc.CallReplyRow) (reply llm.Reply, err error) {
	reply = llm.Reply{Text: *r.Reply, Refusal: r.Refusal, Finish: r.Finish, Model: r.ReplyModel,
		Usage: llm.Usage{Input: int(r.InputTokens), Output: int(r.OutputTokens), Estimated: r.Estimated}}
	reply.Calls, err = callsOf(r.ToolCalls)
	return reply, err
}

func callsOf(raw []byte) (calls []llm.ToolCall, err error) {
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("decode the tool calls: %w", err)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return calls, nil
}
