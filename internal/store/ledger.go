package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// BeginCall is AdmitCall in its own transaction.
func (s *Store) BeginCall(ctx context.Context, w modelcall.Request) (t modelcall.Admission, err error) {
	err = s.within(ctx, byKeys, w.Key.Workspace, func(ctx context.Context, q Tx) error {
		t, err = q.Calls().AdmitCall(ctx, w)
		return err
	})
	return t, err
}

// AdmitCall decides whether w may be sent. It locks the run's row, so that two calls cannot both
// use the last free slot. The batch saves two round trips for each model call.
func (q CallRepository) AdmitCall(ctx context.Context, w modelcall.Request) (t modelcall.Admission, err error) {
	var (
		b      pgx.Batch
		locked []runLocked
		rows   []dbsqlc.CallGetRow
		rooms  []dbsqlc.CallRoomRow // one
	)
	k := w.Key
	collect(&b, "lock the run", &locked, dbsqlc.RunLock, q.ws, k.Run)
	collect(&b, "read the call", &rows, dbsqlc.CallGet, q.ws, k.Run, k.Step, int32(k.Round))
	collect(&b, "read the limits", &rooms, dbsqlc.CallRoom, int32(w.Parallel), k.Run, q.ws)
	if err := q.send(ctx, &b); err != nil {
		return t, err
	}
	if len(locked) == 0 || len(rooms) == 0 {
		return t, fmt.Errorf("lock run %s: %w", k.Run, pgx.ErrNoRows)
	}
	room := rooms[0]
	known := len(rows) > 0
	switch {
	case known && rows[0].State == string(run.CallDone):
		t.Verdict = modelcall.Stored
		t.Reply, err = replyOf(rows[0])
		return t, err
	case known && rows[0].State == string(run.CallStarted) && rows[0].Leased:
		return modelcall.Admission{Verdict: modelcall.Busy,
				Wait: time.Duration(rows[0].LeaseSeconds * float64(time.Second))},
			nil
	case w.Parallel > 0 && room.InFlight >= int64(w.Parallel):
		return modelcall.Admission{Verdict: modelcall.Full}, nil
	}
	limits, err := limitsOf(w.Cap, room.Settings)
	if err != nil {
		return t, err
	}
	tokens, micros := w.Reserve, w.Micros
	if known && rows[0].Counted { // a retry is not refused for what its first attempt has reserved
		tokens, micros = tokens-rows[0].Reserved, micros-rows[0].ReservedMicros
	}
	limits = limits.of(tokens, micros)
	if over := limits.without(room.Tokens, room.Micros, tokens, micros); over != "" { // the usual refusal needs no lock
		return limits.refusal(over, room.Tokens, room.Micros, tokens, micros), nil
	}
	t.Verdict, t.Attempt = modelcall.Send, 1
	over := ""
	if known {
		t.Attempt += int(rows[0].Attempts)
		over, t.Request, err = q.takeOver(ctx, w, rows[0], limits, tokens, micros)
	} else {
		t.Request = w.Request
		over, err = q.insertCall(ctx, w, locked[0].ConversationID, limits)
	}
	if err != nil || over == "" {
		return t, err
	}
	day, err := q.q.CallDay(ctx, q.ws)
	return limits.refusal(over, day.Tokens, day.Micros, tokens, micros), classify("read what the day has used", err)
}

// replyOf returns the reply of a call that is done.
func replyOf(r dbsqlc.CallGetRow) (llm.Reply, error) {
	return storedReply(dbsqlc.CallReplyRow{Reply: r.Reply, ToolCalls: r.ToolCalls, Refusal: r.Refusal, Finish: r.Finish,
		ReplyModel: r.ReplyModel, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens,
		CachedTokens: r.CachedTokens, WrittenTokens: r.WrittenTokens, Estimated: r.Estimated})
}

// takeOver takes over the lease of a call and returns its stored request. If a part of that was erased,
// the request of the caller replaces it. If a limit of the day has no room, it changes nothing and
// returns the limit.
func (q CallRepository) takeOver(ctx context.Context, w modelcall.Request, stored dbsqlc.CallGetRow, limits dayLimits,
	tokens, micros int64) (over string, p llm.PreparedRequest, err error) {
	if limits.any() {
		over, err = q.q.CallReserve(ctx, dbsqlc.CallReserveParams{Tokens: tokens, MaxTokens: limits.tokens,
			Micros: micros, MaxMicros: limits.micros, MaxDeployment: limits.deployment})
		if err != nil || over != "" {
			return over, p, classify("reserve a call", err)
		}
	}
	n, err := q.q.CallTakeOver(ctx, dbsqlc.CallTakeOverParams{Holder: w.Holder, Lease: w.Lease, Reserved: w.Reserve,
		ReservedMicros: w.Micros,
		WorkspaceID:    q.ws, RunID: w.Key.Run, Step: w.Key.Step, Round: int32(w.Key.Round)})
	if err := oneRow("take over the lease of the call", n, err); err != nil {
		return "", p, err
	}
	if stored.Request == "" {
		return "", w.Request, q.replaceRequest(ctx, w.Key, w.Holder, w.Request, w.SHA)
	}
	p = llm.PreparedRequest{Model: stored.Model, Body: json.RawMessage(stored.Request)}
	if err := json.Unmarshal(stored.Label, &p.Label); err != nil {
		return "", p, fmt.Errorf("decode the label: %w", err)
	}
	return "", p, nil
}

func (q CallRepository) replaceRequest(ctx context.Context, k run.CallKey, h run.Holder, p llm.PreparedRequest,
	sha [sha256.Size]byte) error {
	n, err := q.q.CallReplaceRequest(ctx, dbsqlc.CallReplaceRequestParams{Request: []string{string(p.Body)},
		RequestSha: sha[:], WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round), Holder: h})
	return oneRow("replace the request", n, err)
}

// runLocked is the row of a run that is locked.
type runLocked = dbsqlc.RunLockRow

// ExtendCall extends the lease of h. A lost lease is not restored.
func (s *Store) ExtendCall(ctx context.Context, k run.CallKey, h run.Holder, lease time.Duration) error {
	return s.within(ctx, byKeys, k.Workspace, func(ctx context.Context, q Tx) error {
		_, err := q.q.CallExtend(ctx, dbsqlc.CallExtendParams{Lease: lease, WorkspaceID: q.ws, RunID: k.Run,
			Step: k.Step, Round: int32(k.Round), Holder: h})
		return err
	})
}

// ReplaceCall replaces a request that the endpoint rejected without processing it.
func (s *Store) ReplaceCall(ctx context.Context, k run.CallKey, h run.Holder, p llm.PreparedRequest,
	sha [sha256.Size]byte) error {
	return s.within(ctx, byKeys, k.Workspace, func(ctx context.Context, q Tx) error {
		return q.Calls().replaceRequest(ctx, k, h, p, sha)
	})
}

// StoreReply stores a reply in the transaction. If another reply is already stored, it fails with
// modelcall.ErrReplyExists.
func (q CallRepository) StoreReply(ctx context.Context, k run.CallKey, r llm.Reply, cost *int64) (llm.Reply, error) {
	stored, calls, err := storableReply(r)
	if err != nil {
		return stored, err
	}
	n, err := q.q.CallDone(ctx, q.doneParams(k, stored, calls, cost))
	if err == nil && n != 1 {
		return stored, modelcall.ErrReplyExists
	}
	return stored, classify("store the reply", err)
}

func (q CallRepository) doneParams(k run.CallKey, r llm.Reply, calls []byte, cost *int64) dbsqlc.CallDoneParams {
	return dbsqlc.CallDoneParams{Reply: &r.Text, ToolCalls: calls, Refusal: r.Refusal, Finish: r.Finish,
		ReplyModel:  r.Model,
		InputTokens: int64(r.Usage.Input), OutputTokens: int64(r.Usage.Output), Estimated: r.Usage.Estimated,
		CachedTokens: int64(r.Usage.Cached), WrittenTokens: int64(r.Usage.Written),
		CostMicros:  cost,
		WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round)}
}

// storableReply returns a reply in stored form, and its calls as JSON.
func storableReply(r llm.Reply) (stored llm.Reply, calls []byte, err error) {
	stored = llm.Reply{Text: storable(r.Text), Refusal: storable(r.Refusal), Finish: storable(r.Finish),
		Model: storable(r.Model), Usage: r.Usage}
	if calls, err = encode("the tool calls", append([]llm.ToolCall{}, r.Calls...)); err != nil { // never null
		return stored, nil, err
	}
	stored.Calls, err = callsOf(calls)
	return stored, calls, err
}

// EndCall stores a reply and returns the valid one: the first that was stored, even by another
// lease holder.
func (s *Store) EndCall(ctx context.Context, k run.CallKey, r llm.Reply, cost *int64) (stored llm.Reply, err error) {
	stored, calls, err := storableReply(r)
	if err != nil {
		return stored, err
	}
	first := false
	err = s.within(ctx, byKeys, k.Workspace, func(ctx context.Context, q Tx) error {
		n, err := q.q.CallDone(ctx, q.Calls().doneParams(k, stored, calls, cost))
		first = n == 1
		return err
	})
	if err != nil || first {
		return stored, err
	}
	err = s.within(ctx, byKeys, k.Workspace, func(ctx context.Context, q Tx) error {
		row, err := q.q.CallReply(ctx, dbsqlc.CallReplyParams{WorkspaceID: q.ws, RunID: k.Run, Step: k.Step,
			Round: int32(k.Round)})
		if err != nil {
			return fmt.Errorf("read the reply: %w", err)
		}
		stored, err = storedReply(row)
		return err
	})
	return stored, err
}

// FailCall records that h's request got no reply.
func (s *Store) FailCall(ctx context.Context, k run.CallKey, h run.Holder, f modelcall.Failed) error {
	n := int32(0)
	if f.Unknown {
		n = 1
	}
	return s.within(ctx, byKeys, k.Workspace, func(ctx context.Context, q Tx) error {
		_, err := q.q.CallFailed(
			ctx,
			dbsqlc.CallFailedParams{ErrorClass: f.Class, Error: storable(f.Message), Unknown: n,
				Status: int32(f.Status), RetrySeconds: f.RetryIn.Seconds(),
				WorkspaceID: q.ws, RunID: k.Run, Step: k.Step, Round: int32(k.Round), Holder: h},
		)
		return err
	})
}

// Calls lists a run's ledger in the order of the first attempts.
func (q CallRepository) Calls(ctx context.Context, ref run.Ref) ([]run.Call, error) {
	rows, err := q.q.CallsOfRun(ctx, dbsqlc.CallsOfRunParams{WorkspaceID: q.ws, RunID: ref.Run})
	if err != nil {
		return nil, classify("list the calls", err)
	}
	out := make([]run.Call, len(rows))
	for i, r := range rows {
		out[i] = run.Call{Key: run.CallKey{Ref: ref, Step: r.Step, Round: int(r.Round)}, State: run.CallState(r.State),
			Stage: r.Stage, Model: r.Model,
			Attempts: int(r.Attempts), Unknown: int(r.Unknown), Input: r.InputTokens, Output: r.OutputTokens,
			Cached: r.CachedTokens, Written: r.WrittenTokens,
			Estimated:  r.Estimated,
			CostMicros: r.CostMicros, ErrorClass: r.ErrorClass, Error: r.Error, StartedAt: r.CreatedAt,
			FinishedAt: r.FinishedAt, Status: int(r.Status), RetryAt: r.RetryAt,
			RetryIn: time.Duration(r.RetrySeconds * float64(time.Second))}
	}
	return out, nil
}

// Exchanges lists the calls of a run, or of one of its steps, with their requests and replies.
func (q CallRepository) Exchanges(ctx context.Context, ref run.Ref, step string) (out []readmodel.StoredExchange,
	err error) {
	rows, err := q.q.CallExchanges(ctx, dbsqlc.CallExchangesParams{WorkspaceID: q.ws, RunID: ref.Run, Step: step})
	if err != nil {
		return nil, classify("read the calls", err)
	}
	for _, r := range rows {
		one := readmodel.StoredExchange{Request: r.Request, Call: run.Call{
			Key:   run.CallKey{Ref: ref, Step: r.Step, Round: int(r.Round)},
			State: run.CallState(r.State), Stage: r.Stage, Model: r.Model, Attempts: int(r.Attempts),
			Unknown: int(r.Unknown), Input: r.InputTokens, Output: r.OutputTokens, Estimated: r.Estimated,
			Cached: r.CachedTokens, Written: r.WrittenTokens,
			CostMicros: r.CostMicros, ErrorClass: r.ErrorClass, Error: r.Error, StartedAt: r.CreatedAt,
			FinishedAt: r.FinishedAt}}
		if r.Reply != nil {
			reply, err := storedReply(dbsqlc.CallReplyRow{Reply: r.Reply, ToolCalls: r.ToolCalls, Refusal: r.Refusal,
				Finish: r.Finish, ReplyModel: r.ReplyModel, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens,
				CachedTokens: r.CachedTokens, WrittenTokens: r.WrittenTokens, Estimated: r.Estimated})
			if err != nil {
				return nil, err
			}
			one.Reply = &reply
		}
		out = append(out, one)
	}
	return out, nil
}

// ExpireCalls marks calls as unknown whose lease expired at least grace ago.
func (s *Store) ExpireCalls(ctx context.Context, grace time.Duration) (n int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err = q.CallsExpire(ctx, grace)
		return err
	})
	return n, err
}

// daysAtOnce is the maximum number of rows in one deletion of the sums of old days.
const daysAtOnce = 1000

// purgeDays deletes a part of the sums of days whose limits are over.
func (s *Store) purgeDays(ctx context.Context) (int, error) {
	var n int64
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.CallDaysPurge(ctx, daysAtOnce)
		return err
	})
	return int(n), classify("purge the sums of old days", err)
}

func storedReply(r dbsqlc.CallReplyRow) (reply llm.Reply, err error) {
	reply = llm.Reply{Text: *r.Reply, Refusal: r.Refusal, Finish: r.Finish, Model: r.ReplyModel,
		Usage: llm.Usage{Input: int(r.InputTokens), Output: int(r.OutputTokens), Cached: int(r.CachedTokens),
			Written: int(r.WrittenTokens), Estimated: r.Estimated}}
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
