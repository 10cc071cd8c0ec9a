package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// TurnOf finds the turn of a channel's message.
func (q TurnRepository) TurnOf(ctx context.Context, conversationID int64, message string) (conversation.Turn, bool,
	error) {
	r, err := q.q.TurnByMessage(ctx, dbsqlc.TurnByMessageParams{WorkspaceID: q.ws, ConversationID: conversationID,
		MessageID: storable(message)})
	if isNoRows(err) {
		return conversation.Turn{}, false, nil
	}
	if err != nil {
		return conversation.Turn{}, false, classify("find the message", err)
	}
	t, err := turnOf(r)
	return t, err == nil, err
}

// TurnOfRun reads the turn of a run.
func (q TurnRepository) TurnOfRun(ctx context.Context, id string) (conversation.Turn, error) {
	r, err := q.q.TurnByRun(ctx, dbsqlc.TurnByRunParams{WorkspaceID: q.ws, RunID: &id})
	if err != nil {
		return conversation.Turn{}, classify("read the turn", err)
	}
	return turnOf(r)
}

// Turns reads turns by their numbers, both inclusive.
func (q TurnRepository) Turns(ctx context.Context, conversationID int64, from, to int) ([]conversation.Turn, error) {
	rows, err := q.q.TurnsRange(ctx, dbsqlc.TurnsRangeParams{WorkspaceID: q.ws, ConversationID: conversationID,
		FromNumber: int32(from), ToNumber: int32(to)})
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

// PutTurn stores an accepted turn with its run and the outbox task that drives the run.
func (q TurnRepository) PutTurn(ctx context.Context, t conversation.Turn, n run.NewRun) (run.Run, error) {
	made := run.Run{Kind: run.Turn, Key: n.Key, Generation: 1, ArgsSHA: n.ArgsSHA, Conversation: n.Conversation,
		WorkflowID: n.WorkflowID}
	facts, err := encode("the facts of a turn", t.Facts)
	if err != nil {
		return made, err
	}
	r, err := q.q.TurnAccept(ctx, dbsqlc.TurnAcceptParams{WorkspaceID: q.ws, RunID: run.NewID(),
		BusinessKey: storable(n.Key), ArgsSha: n.ArgsSHA[:], ConversationID: &n.Conversation, Spec: n.Spec,
		WorkflowID: n.WorkflowID, Number: int32(t.Number), MessageID: storable(t.MessageID), Mode: t.Mode,
		Origin: t.Origin, FirstSeq: int32(t.FirstSeq), ReplySeq: seqOrNull(t.ReplySeq), Facts: facts,
		Duty: outbox.DriveTurn, Wait: driveAfter})
	if err != nil {
		return made, classify("store the turn", err)
	}
	made.Ref = run.Ref{Workspace: q.ws, Run: r.ID}
	made.Spec, made.Status, made.Attempt = r.Spec, run.Status(r.Status), int(r.Attempt)
	return made, nil
}

// EndTurn ends an accepted turn. It fails if the turn has ended.
func (q TurnRepository) EndTurn(ctx context.Context, t conversation.Turn) error {
	facts, err := encode("the facts of a turn", t.Facts)
	if err != nil {
		return err
	}
	n, err := q.q.TurnEnd(ctx, dbsqlc.TurnEndParams{Reason: t.Reason, ReplySeq: seqOrNull(t.ReplySeq), Facts: facts,
		Tainted: t.Tainted, WorkspaceID: q.ws, ConversationID: t.Conversation, Number: int32(t.Number)})
	return oneRow("end the turn", n, err)
}

// News reads the changes since a turn's session was frozen.
func (q TurnRepository) News(ctx context.Context, t conversation.Turn, frozen time.Time) (conversation.SessionChanges,
	error) {
	rows, err := q.q.TurnNews(ctx, dbsqlc.TurnNewsParams{WorkspaceID: q.ws, Conversation: t.Conversation,
		Before: int32(t.Number - 1), Frozen: frozen})
	return newsOf(rows), classify("read what is new to a turn", err)
}

func newsOf(rows []dbsqlc.TurnNewsRow) (out conversation.SessionChanges) {
	for _, r := range rows {
		out.Zone = r.TimeZone
		switch {
		case r.State == "": // the one row if nothing is new
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

// PinContext stores the context of a turn unless it has one, and returns the stored one. The caller
// must hold the lock of the turn's run.
func (q TurnRepository) PinContext(ctx context.Context, t conversation.Turn, text string) (string, error) {
	stored := storable(text)
	n, err := q.q.TurnContextPin(ctx, dbsqlc.TurnContextPinParams{Context: stored, WorkspaceID: q.ws,
		ConversationID: t.Conversation, Number: int32(t.Number)})
	return stored, oneRow("store the context of a turn", n, err)
}

func seqOrNull(seq int) *int32 {
	if seq < 0 {
		return nil
	}
	n := int32(seq)
	return &n
}

func turnOf(r dbsqlc.Turn) (conversation.Turn, error) {
	t := conversation.Turn{Conversation: r.ConversationID, Number: int(r.Number), MessageID: r.MessageID, Mode: r.Mode,
		Origin: r.Origin, ArgsSHA: [32]byte(r.ArgsSha), Context: r.Context,
		FirstSeq: int(r.FirstSeq), ReplySeq: -1, Ended: r.Status == "ended", Reason: r.Reason, Tainted: r.Tainted,
		AcceptedAt: r.AcceptedAt, EndedAt: r.EndedAt}
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

// Steps reads the steps of a run, with the calls of each response.
func (q StepRepository) Steps(ctx context.Context, id string) ([]run.Step, error) {
	rows, err := q.q.StepsOf(ctx, dbsqlc.StepsOfParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return nil, classify("read the steps", err)
	}
	calls, err := q.q.AgentCallsOf(ctx, dbsqlc.AgentCallsOfParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return nil, classify("read the calls", err)
	}
	return stepRows{rows, calls}.all(), nil
}

// stepRows are the rows of a run's steps and calls.
type stepRows struct {
	steps []dbsqlc.StepsOfRow
	calls []dbsqlc.AgentCallsOfRow
}

// queue adds the statements that read the rows to a batch.
func (s *stepRows) queue(b *pgx.Batch, ws int64, id string) {
	collect(b, "read the steps", &s.steps, dbsqlc.StepsOf, ws, id)
	collect(b, "read the calls", &s.calls, dbsqlc.AgentCallsOf, ws, id)
}

func (s stepRows) all() []run.Step {
	out, calls := make([]run.Step, len(s.steps)), s.calls
	for i, r := range s.steps {
		out[i] = run.Step{N: int(r.Step), Note: r.Note, Content: r.Content, Finish: r.Finish}
		for len(calls) > 0 && calls[0].Step == r.Step {
			out[i].Calls, calls = append(out[i].Calls, callOf(calls[0])), calls[1:]
		}
	}
	return out
}

func callOf(c dbsqlc.AgentCallsOfRow) run.ToolCall {
	out := run.ToolCall{Step: int(c.Step), Position: int(c.Position), ID: c.CallID, Tool: c.Tool,
		Class: agent.Class(c.Class), Arguments: c.Arguments, Done: c.Result != nil, Code: c.Code}
	if c.Result != nil {
		out.Result = *c.Result
	}
	return out
}

// PutStep stores a response with its calls. An existing step stays unchanged.
func (q StepRepository) PutStep(ctx context.Context, id string, s run.Step) error {
	p := dbsqlc.StepPutParams{WorkspaceID: q.ws, RunID: id, Step: int32(s.N), Note: s.Note,
		Content: storable(s.Content), Finish: s.Finish}
	for _, c := range s.Calls {
		p.Positions = append(p.Positions, int32(c.Position))
		p.CallIds = append(p.CallIds, storable(c.ID))
		p.Tools = append(p.Tools, storable(c.Tool))
		p.Classes = append(p.Classes, string(c.Class))
		p.Arguments = append(p.Arguments, storable(c.Arguments))
	}
	return classify("store the step", q.q.StepPut(ctx, p))
}

// EndCall stores the result of a call for the model, and returns the call with it. An existing
// result stays unchanged.
func (q StepRepository) EndCall(ctx context.Context, id string, c run.ToolCall) (run.ToolCall, error) {
	result := storable(c.Result)
	r, err := q.q.AgentCallEnd(ctx, dbsqlc.AgentCallEndParams{Result: &result, Code: c.Code, WorkspaceID: q.ws,
		RunID: id, Step: int32(c.Step), Position: int32(c.Position)})
	c.Done, c.Result, c.Code = true, r.Told, r.Code
	return c, classify("store the result of a call", err)
}

// RequireOpenRun locks a run so that it cannot end before the transaction does. It returns false if
// the run has ended.
func (q RunRepository) RequireOpenRun(ctx context.Context, id string) (bool, error) {
	status, err := q.q.RunHold(ctx, dbsqlc.RunHoldParams{WorkspaceID: q.ws, ID: id})
	return run.Status(status) != run.Ended, noRun(id, err)
}

// OpenTurnsBefore returns the runs of the turns of a conversation before a number that have not ended, in their order.
func (s *Store) OpenTurnsBefore(ctx context.Context, ws, conversation int64, number int) (out []run.Run, err error) {
	const most = 50 // the relay delivers the others
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.TurnsOpenBefore(ctx, dbsqlc.TurnsOpenBeforeParams{WorkspaceID: q.ws,
			ConversationID: conversation, Number: int32(number), MaxRows: most})
		for _, r := range rows {
			out = append(out, runOf(r))
		}
		return classify("read the open turns", err)
	})
	return out, err
}
