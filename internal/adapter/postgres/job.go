package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// What a step of an agent reads and holds, each in one round trip.

// Job reads a run with what its model has said, and the turn that it answers when
// it is one's.
func (q Queries) Job(ctx context.Context, id int64) (r run.Run, steps []conversation.Step, t conversation.Turn, err error) {
	var runs []dbsqlc.Run
	var turns []dbsqlc.Turn
	var records []conversation.Record
	ahead(q, "read the run", &runs, dbsqlc.RunGet, q.ws, id)
	ahead(q, "read the turn", &turns, dbsqlc.TurnByRun, q.ws, &id)
	ahead(q, "read the record", &records, dbsqlc.CompactionOfTurn, q.ws, &id)
	if steps, err = q.Steps(ctx, id); err != nil {
		return r, nil, t, err
	}
	if len(runs) == 0 {
		return r, nil, t, noRun(id, pgx.ErrNoRows)
	}
	if len(turns) > 0 {
		t, err = turnOf(turns[0])
	}
	if len(records) > 0 {
		t.Record = records[0]
	}
	return runOf(runs[0]), steps, t, err
}

// Thread reads the session of a turn, the one that its run keeps, unless it was
// revoked, or else the live one of a channel, if there is one; and the messages of
// the turns after one, up to the turn itself. With it the transaction ends.
func (q Queries) Thread(ctx context.Context, id int64, channel, lang string, t conversation.Turn, after int) (s conversation.Session, kept bool, ms []conversation.TurnMessage, err error) {
	var own []dbsqlc.SessionGetRow
	var live []dbsqlc.SessionGetRow
	ahead(q, "read the session", &own, dbsqlc.RunSessionGet, q.ws, id)
	ahead(q, "find the session", &live, dbsqlc.SessionOffered, q.ws, channel, lang, id)
	q.t.once = true
	if ms, err = q.Messages(ctx, t.Conversation, after, t.Number); err != nil {
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

// Resume holds a run and stores what its next request tells; with the session it
// is marked as picked up. As everywhere the run is locked before its calls.
func (q Queries) Resume(ctx context.Context, id int64, in conversation.StepResume) (out conversation.StepResume, open bool, err error) {
	var locked []runLocked
	var sessions []struct{ ID *int64 }
	ahead(q, "lock the run", &locked, dbsqlc.RunLock, q.ws, id)
	told := make([][]dbsqlc.AgentCallEndRow, len(in.Calls))
	for i, c := range in.Calls {
		result := storable(c.Result)
		ahead(q, "store the result of a call", &told[i], dbsqlc.AgentCallEnd, &result, c.Code, q.ws, id, int32(c.Step), int32(c.Position))
	}
	if in.Session != 0 {
		ahead(q, "keep the session", &sessions, dbsqlc.RunSession, &in.Session, q.ws, id)
	}
	var kept []struct{ ID int64 }
	if in.Kept != 0 {
		ahead(q, "look for the session", &kept, dbsqlc.RunSessionKept, q.ws, id)
	}
	var news []dbsqlc.TurnNewsRow
	var contexts []struct{ Context string }
	if t := in.Turn; t != nil {
		ahead(q, "read what is new to a turn", &news, dbsqlc.TurnNews, in.Frozen, t.Conversation, int32(t.Number-1), q.ws)
		ahead(q, "read what a turn is told", &contexts, dbsqlc.TurnContext, q.ws, t.Conversation, int32(t.Number))
	}
	if err := q.t.flush(ctx); err != nil {
		return out, false, err
	}
	switch {
	case len(locked) == 0:
		return out, false, noRun(id, pgx.ErrNoRows)
	case run.Status(locked[0].Status) == run.Ended:
		return out, false, nil
	}
	for i, c := range in.Calls {
		if len(told[i]) == 0 {
			return out, false, classify("store the result of a call", pgx.ErrNoRows)
		}
		c.Done, c.Result, c.Code = true, told[i][0].Told, told[i][0].Code
		out.Calls = append(out.Calls, c)
	}
	if len(sessions) > 0 && sessions[0].ID != nil {
		out.Session = *sessions[0].ID
	}
	if len(kept) > 0 {
		out.Kept = kept[0].ID
	}
	out.News = newsOf(news)
	if len(contexts) > 0 {
		out.Context = contexts[0].Context
	}
	return out, true, nil
}

// LockTurn is LockRun of a turn that begins with a message, after its conversation.
func (q Queries) LockTurn(ctx context.Context, conversationID, id int64, first int) (c conversation.Conversation, r run.Run, steps []conversation.Step, err error) {
	var locked []dbsqlc.ConversationLockRow
	var last []conversation.ActivityWindow
	ahead(q, "lock the conversation", &locked, dbsqlc.ConversationLock, q.ws, conversationID)
	ahead(q, "read the last sitting", &last, dbsqlc.LastSitting, q.ws, conversationID, first, math.MaxInt32)
	if r, steps, err = q.LockRun(ctx, id); err != nil {
		return c, r, nil, err
	}
	if len(locked) == 0 {
		return c, r, nil, noConversationOf(conversationID)
	}
	c, err = conversationLocked(conversationID, locked[0])
	c.Last = last[0]
	return c, r, steps, err
}

// LockRun keeps a run as it is until the transaction is over, and reads what its
// model has said by then.
func (q Queries) LockRun(ctx context.Context, id int64) (run.Run, []conversation.Step, error) {
	var runs []dbsqlc.Run
	ahead(q, "lock the run", &runs, dbsqlc.RunGetLocked, q.ws, id)
	steps, err := q.Steps(ctx, id)
	if err != nil {
		return run.Run{}, nil, err
	}
	if len(runs) == 0 {
		return run.Run{}, nil, noRun(id, pgx.ErrNoRows)
	}
	return runOf(runs[0]), steps, nil
}
