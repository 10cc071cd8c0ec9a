package store

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// The reads and locks of an agent's step. These methods, and AdmitCall, send their statements as
// one batch. Each comment states how many round trips that saves. The benchmark is `cairn-bench
// turns` with 4 model calls and 64 conversations at once.

// Job reads a run with its steps, and the turn that it belongs to, if any. The batch saves four
// round trips.
func (q StepRepository) Job(ctx context.Context, id string) (r run.Run, steps []run.Step, t conversation.Turn,
	err error) {
	var (
		b         pgx.Batch
		runs      []dbsqlc.Run
		turns     []dbsqlc.Turn
		records   []conversation.Record
		responses stepRows
	)
	collect(&b, "read the run", &runs, dbsqlc.RunGet, q.ws, id)
	collect(&b, "read the turn", &turns, dbsqlc.TurnByRun, q.ws, &id)
	collect(&b, "read the compaction", &records, dbsqlc.CompactionOfTurn, q.ws, &id)
	responses.queue(&b, q.ws, id)
	if err = q.send(ctx, &b); err != nil {
		return r, nil, t, err
	}
	if len(runs) == 0 {
		return r, nil, t, q.lostRun(ctx, id, pgx.ErrNoRows)
	}
	if len(turns) > 0 {
		t, err = turnOf(turns[0])
	}
	if len(records) > 0 {
		t.Record = records[0]
	}
	return runOf(runs[0]), responses.all(), t, err
}

// Thread reads the session of a turn and the messages of the turns after turn number after, up to
// the turn itself. The session is the one that its run has stored, unless it was revoked, or else
// the live one of the channel, if there is one. The batch saves two round trips.
func (q StepRepository) Thread(ctx context.Context, id, channel, lang string, t conversation.Turn,
	after int) (s conversation.Session, kept bool, ms []conversation.TurnMessage, err error) {
	var (
		b         pgx.Batch
		own, live []dbsqlc.SessionGetRow
		rows      []dbsqlc.TurnMessagesRow
	)
	collect(&b, "read the session", &own, dbsqlc.RunSessionGet, q.ws, id)
	collect(&b, "find the session", &live, dbsqlc.SessionOffered, q.ws, channel, lang, id)
	collect(&b, "read the messages", &rows, dbsqlc.TurnMessages, q.ws, t.Conversation, int32(after), int32(t.Number))
	if err = q.send(ctx, &b); err != nil {
		return s, false, nil, err
	}
	if ms, err = turnMessagesOf(rows); err != nil {
		return s, false, nil, err
	}
	if len(own) > 0 {
		s, err = sessionOf(own[0])
		return s, true, ms, err
	}
	if len(live) > 0 {
		s, err = sessionOf(live[0])
	}
	return s, false, ms, err
}

// resumeRows are the rows that the statements of Resume return.
type resumeRows struct {
	locked   []runLocked
	results  [][]dbsqlc.AgentCallEndRow
	sessions []struct{ ID *int64 }
	valid    []struct{ ID int64 }
	news     []dbsqlc.TurnNewsRow
	contexts []struct{ Context string }
}

// Resume locks a run and stores the data of its next request. If it stores the session, the run is
// marked as started. As everywhere, the run is locked before its calls. The batch saves two to five
// round trips.
func (q StepRepository) Resume(ctx context.Context, id string, in conversation.StepResume) (out conversation.StepResume,
	open bool, err error) {
	var b pgx.Batch
	rows := resumeRows{results: make([][]dbsqlc.AgentCallEndRow, len(in.Calls))}
	collect(&b, "lock the run", &rows.locked, dbsqlc.RunLock, q.ws, id)
	for i, c := range in.Calls {
		result := storable(c.Result)
		collect(&b, "store the result of a call", &rows.results[i], dbsqlc.AgentCallEnd,
			&result, c.Code, q.ws, id, int32(c.Step), int32(c.Position))
	}
	if in.Session != 0 {
		collect(&b, "store the session", &rows.sessions, dbsqlc.RunSession, &in.Session, q.ws, id)
	}
	if in.Kept != 0 {
		collect(&b, "find the session", &rows.valid, dbsqlc.RunSessionKept, q.ws, id)
	}
	if t := in.Turn; t != nil {
		collect(&b, "read what is new to a turn", &rows.news, dbsqlc.TurnNews,
			in.Frozen, t.Conversation, int32(t.Number-1), q.ws)
		collect(&b, "read the context of a turn", &rows.contexts, dbsqlc.TurnContext, q.ws, t.Conversation,
			int32(t.Number))
	}
	if err := q.send(ctx, &b); err != nil {
		return out, false, err
	}
	switch {
	case len(rows.locked) == 0:
		return out, false, q.lostRun(ctx, id, pgx.ErrNoRows)
	case run.Status(rows.locked[0].Status) == run.Ended:
		return out, false, nil
	}
	out, err = rows.resumed(in)
	return out, err == nil, err
}

// resumed returns the stored values, which may be those of an earlier attempt.
func (r resumeRows) resumed(in conversation.StepResume) (out conversation.StepResume, err error) {
	for i, c := range in.Calls {
		if len(r.results[i]) == 0 {
			return out, classify("store the result of a call", pgx.ErrNoRows)
		}
		c.Done, c.Result, c.Code = true, r.results[i][0].Told, r.results[i][0].Code
		out.Calls = append(out.Calls, c)
	}
	if len(r.sessions) > 0 && r.sessions[0].ID != nil {
		out.Session = *r.sessions[0].ID
	}
	if len(r.valid) > 0 {
		out.Kept = r.valid[0].ID
	}
	out.News = newsOf(r.news)
	if len(r.contexts) > 0 {
		out.Context = r.contexts[0].Context
	}
	return out, nil
}

// LockTurn locks the conversation and then the run, as LockRun does. The batch saves four round
// trips.
func (q StepRepository) LockTurn(ctx context.Context, conversationID int64, id string, first int) (
	c conversation.Conversation, r run.Run, steps []run.Step, err error) {
	var (
		b         pgx.Batch
		locked    []dbsqlc.ConversationLockRow
		last      []conversation.ActivityWindow
		runs      []dbsqlc.Run
		responses stepRows
	)
	collect(&b, "lock the conversation", &locked, dbsqlc.ConversationLock, q.ws, conversationID)
	collect(&b, "read the last activity", &last, dbsqlc.LastSitting, q.ws, conversationID, math.MaxInt32)
	collect(&b, "lock the run", &runs, dbsqlc.RunGetLocked, q.ws, id)
	responses.queue(&b, q.ws, id)
	if err = q.send(ctx, &b); err != nil {
		return c, r, nil, err
	}
	if len(runs) == 0 {
		return c, r, nil, q.lostRun(ctx, id, pgx.ErrNoRows)
	}
	if len(locked) == 0 {
		return c, r, nil, noConversationOf(conversationID)
	}
	c, err = conversationLocked(conversationID, locked[0])
	c.Last = last[0]
	return c, runOf(runs[0]), responses.all(), err
}

// LockRun locks a run until the transaction ends, and reads it with its steps. The batch saves two
// round trips.
func (q StepRepository) LockRun(ctx context.Context, id string) (run.Run, []run.Step, error) {
	var (
		b         pgx.Batch
		runs      []dbsqlc.Run
		responses stepRows
	)
	collect(&b, "lock the run", &runs, dbsqlc.RunGetLocked, q.ws, id)
	responses.queue(&b, q.ws, id)
	if err := q.send(ctx, &b); err != nil {
		return run.Run{}, nil, err
	}
	if len(runs) == 0 {
		return run.Run{}, nil, q.lostRun(ctx, id, pgx.ErrNoRows)
	}
	return runOf(runs[0]), responses.all(), nil
}
