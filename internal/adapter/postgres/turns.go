package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// TurnOf finds the turn of a channel's message.
func (q Queries) TurnOf(ctx context.Context, conversationID int64, message string) (conversation.Turn, bool, error) {
	r, err := q.q.TurnByMessage(ctx, dbsqlc.TurnByMessageParams{WorkspaceID: q.ws, ConversationID: conversationID, MessageID: storable(message)})
	if isNoRows(err) {
		return conversation.Turn{}, false, nil
	}
	if err != nil {
		return conversation.Turn{}, false, classify("look for the message", err)
	}
	t, err := turnOf(r)
	return t, err == nil, err
}

// TurnOfRun reads the turn that a run answers.
func (q Queries) TurnOfRun(ctx context.Context, id int64) (conversation.Turn, error) {
	r, err := q.q.TurnByRun(ctx, dbsqlc.TurnByRunParams{WorkspaceID: q.ws, RunID: &id})
	if err != nil {
		return conversation.Turn{}, classify("read the turn", err)
	}
	return turnOf(r)
}

// Turns reads turns by their numbers, both ends included.
func (q Queries) Turns(ctx context.Context, conversationID int64, from, to int) ([]conversation.Turn, error) {
	rows, err := q.q.TurnsRange(ctx, dbsqlc.TurnsRangeParams{WorkspaceID: q.ws, ConversationID: conversationID, FromNumber: int32(from), ToNumber: int32(to)})
	if err != nil {
		return nil, classify("read the turns", err)
	}
	out := make([]conversation.Turn, len(rows))
	for i, r := range rows {
		if out[i], err = turnOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// PutTurn puts aside a turn that is accepted, with its run and the duty to drive
// that. The run is known when the transaction is over.
func (q Queries) PutTurn(_ context.Context, t conversation.Turn, n conversation.NewRun) (*run.Run, error) {
	facts, err := encode("the facts of a turn", t.Facts)
	if err != nil {
		return nil, err
	}
	made := &run.Run{Kind: run.Turn, Key: n.Key, Generation: 1, ArgsSHA: n.ArgsSHA, Conversation: n.Conversation, WorkflowID: n.WorkflowID}
	q.t.aside = append(q.t.aside, statement{sql: dbsqlc.TurnAccept, args: []any{q.ws, storable(n.Key), n.ArgsSHA[:], n.Conversation, n.Spec, n.WorkflowID,
		int32(t.Number), storable(t.MessageID), t.Mode, t.Origin, int32(t.FirstSeq), seqOrNull(t.ReplySeq), facts, DriveRun, driveAfter},
		take: func(r pgx.BatchResults) error {
			var attempt int32
			made.Workspace = q.ws
			err := r.QueryRow().Scan(&made.Ref.Run, &made.Spec, &made.Status, &attempt)
			made.Attempt = int(attempt)
			return classify("store the turn", err)
		}})
	return made, nil
}

// EndTurn ends an accepted turn; one that has ended is an error.
func (q Queries) EndTurn(ctx context.Context, t conversation.Turn) error {
	facts, err := encode("the facts of a turn", t.Facts)
	if err != nil {
		return err
	}
	_, err = q.soon("end the turn", 1).TurnEnd(ctx, dbsqlc.TurnEndParams{Reason: t.Reason, ReplySeq: seqOrNull(t.ReplySeq), Facts: facts, Tainted: t.Tainted, WorkspaceID: q.ws, ConversationID: t.Conversation, Number: int32(t.Number)})
	return err
}

// News reads what a turn is told beside its session, frozen at a time.
func (q Queries) News(ctx context.Context, t conversation.Turn, frozen time.Time) (conversation.SessionChanges, error) {
	rows, err := q.q.TurnNews(ctx, dbsqlc.TurnNewsParams{WorkspaceID: q.ws, Conversation: t.Conversation, Before: int32(t.Number - 1), Frozen: frozen})
	return newsOf(rows), classify("read what is new to a turn", err)
}

func newsOf(rows []dbsqlc.TurnNewsRow) (out conversation.SessionChanges) {
	for _, r := range rows {
		out.Zone = r.TimeZone
		switch {
		case r.State == "": // the one row when nothing is new
		case r.Name == "":
			out.Memories++
		case r.State == "approved":
			out.Approved = append(out.Approved, r.Name)
		case r.State == "rejected":
			out.Rejected = append(out.Rejected, r.Name)
		default:
			out.Changed = append(out.Changed, r.Name)
		}
	}
	return out
}

// PinContext gives a turn that has none its context, and returns it as it is
// stored. Whoever does it holds the turn's run.
func (q Queries) PinContext(ctx context.Context, t conversation.Turn, told string) (string, error) {
	kept := storable(told)
	_, err := q.soon("pin what a turn is told", 1).TurnContextPin(ctx, dbsqlc.TurnContextPinParams{Context: kept, WorkspaceID: q.ws, ConversationID: t.Conversation, Number: int32(t.Number)})
	return kept, err
}

func seqOrNull(seq int) *int32 {
	if seq < 0 {
		return nil
	}
	n := int32(seq)
	return &n
}

func turnOf(r dbsqlc.Turn) (conversation.Turn, error) {
	t := conversation.Turn{Conversation: r.ConversationID, Number: int(r.Number), MessageID: r.MessageID, Mode: r.Mode, Origin: r.Origin, ArgsSHA: [32]byte(r.ArgsSha), Context: r.Context,
		FirstSeq: int(r.FirstSeq), ReplySeq: -1, Ended: r.Status == "ended", Reason: r.Reason, Tainted: r.Tainted, AcceptedAt: r.AcceptedAt, EndedAt: r.EndedAt}
	if r.RunID != nil {
		t.Run = *r.RunID
	}
	if r.ReplySeq != nil {
		t.ReplySeq = int(*r.ReplySeq)
	}
	if err := json.Unmarshal(r.Facts, &t.Facts); err != nil {
		return t, fmt.Errorf("decode the facts of turn %d: %w", r.Number, err)
	}
	return t, nil
}

// Steps reads what a run's model has said, with the calls of each response.
func (q Queries) Steps(ctx context.Context, id int64) ([]conversation.Step, error) {
	var rows []dbsqlc.StepsOfRow
	ahead(q, "read the steps", &rows, dbsqlc.StepsOf, q.ws, id)
	calls, err := q.q.AgentCallsOf(ctx, dbsqlc.AgentCallsOfParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return nil, classify("read the calls", err)
	}
	out := make([]conversation.Step, len(rows))
	for i, r := range rows {
		out[i] = conversation.Step{N: int(r.Step), Note: r.Note, Content: r.Content, Finish: r.Finish}
		for len(calls) > 0 && calls[0].Step == r.Step {
			c := calls[0]
			call := conversation.Call{Step: int(c.Step), Position: int(c.Position), ID: c.CallID, Tool: c.Tool, Class: agent.Class(c.Class), Arguments: c.Arguments, Done: c.Result != nil, Code: c.Code}
			if c.Result != nil {
				call.Result = *c.Result
			}
			out[i].Calls, calls = append(out[i].Calls, call), calls[1:]
		}
	}
	return out, nil
}

// PutStep stores a response with its calls; one that is stored stays as it is.
func (q Queries) PutStep(ctx context.Context, id int64, s conversation.Step) error {
	p := dbsqlc.StepPutParams{WorkspaceID: q.ws, RunID: id, Step: int32(s.N), Note: s.Note, Content: storable(s.Content), Finish: s.Finish}
	for _, c := range s.Calls {
		p.Positions = append(p.Positions, int32(c.Position))
		p.CallIds = append(p.CallIds, storable(c.ID))
		p.Tools = append(p.Tools, storable(c.Tool))
		p.Classes = append(p.Classes, string(c.Class))
		p.Arguments = append(p.Arguments, storable(c.Arguments))
	}
	return q.soon("store the step", -1).StepPut(ctx, p)
}

// EndCall stores what a model is told of a call, once and for all, and returns
// the call with it.
func (q Queries) EndCall(ctx context.Context, id int64, c conversation.Call) (conversation.Call, error) {
	result := storable(c.Result)
	r, err := q.q.AgentCallEnd(ctx, dbsqlc.AgentCallEndParams{Result: &result, Code: c.Code, WorkspaceID: q.ws, RunID: id, Step: int32(c.Step), Position: int32(c.Position)})
	c.Done, c.Result, c.Code = true, r.Told, r.Code
	return c, classify("store the result of a call", err)
}

// HoldRun keeps a run from being ended until the transaction is over. It goes out
// before the next statement; of a run that has ended, the transaction fails with
// ended.
func (q Queries) HoldRun(_ context.Context, id int64, ended error) {
	q.t.put(dbsqlc.RunHold, []any{q.ws, id}, func(_ pgconn.CommandTag, err error) error {
		switch codeOf(err) {
		case "CA005":
			return noRun(id, pgx.ErrNoRows)
		case "CA006":
			return ended
		}
		return classify("hold the run", err)
	})
}
