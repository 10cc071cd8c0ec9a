package store

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// ConversationView finds a conversation by the gateway's ID.
func (q ConversationViewRepository) ConversationView(ctx context.Context, name string) (conversation.View, error) {
	r, err := q.q.ConversationByName(ctx, dbsqlc.ConversationByNameParams{WorkspaceID: q.ws,
		ExternalID: storable(name)})
	if isNoRows(err) {
		return conversation.View{}, noConversation(name)
	}
	if err != nil {
		return conversation.View{}, classify("find the conversation", err)
	}
	return viewOf(r)
}

func viewOf(r dbsqlc.ConversationByNameRow) (conversation.View, error) {
	v := conversation.View{ID: r.ID, Name: r.ExternalID, Channel: r.Channel, Title: r.Title, Messages: int(r.NextSeq),
		Turns: int(r.NextTurn) - 1, CreatedAt: r.CreatedAt, LastTurnAt: r.LastTurnAt, ClosedAt: r.ClosedAt}
	if err := json.Unmarshal(r.Counters, &v.Counters); err != nil {
		return v, fmt.Errorf("decode the counters of conversation %d: %w", r.ID, err)
	}
	return v, nil
}

// Reviews lists the reviews of a conversation, the latest first.
func (q ConversationViewRepository) Reviews(ctx context.Context, conversationID int64,
	max int) ([]conversation.ReviewView, error) {
	rows, err := q.q.NudgesOf(ctx, dbsqlc.NudgesOfParams{WorkspaceID: q.ws, ConversationID: &conversationID,
		MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the reviews", err)
	}
	out := make([]conversation.ReviewView, len(rows))
	for i, r := range rows {
		out[i] = conversation.ReviewView{Run: r.ID, Status: "open", Turn: int(r.Number), CreatedAt: r.CreatedAt,
			EndedAt: r.EndedAt}
		if run.Status(r.Status) != run.Ended {
			continue
		}
		var e run.Result
		if err := json.Unmarshal(r.Result, &e); err != nil {
			return nil, fmt.Errorf("decode the result of run %s: %w", r.ID, err)
		}
		out[i].Status, out[i].Writes, out[i].Staged, out[i].Steps = e.Status, e.Writes, e.Staged, e.Steps
	}
	return out, nil
}

// Answer reads the result of a channel's message.
func (s Conversations) Answer(ctx context.Context, ws int64, conversationID,
	message string) (out conversation.TurnStatus, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.AnswerGet(ctx, dbsqlc.AnswerGetParams{MessageID: storable(message), WorkspaceID: ws,
			ExternalID: storable(conversationID)})
		switch {
		case isNoRows(err):
			return noConversation(conversationID)
		case err != nil:
			return classify("read the reply", err)
		case r.Number == nil:
			return fault.New(fault.NotFound, fmt.Sprintf("conversation %q has no message %q", conversationID, message),
				"send the message first")
		}
		out = conversation.TurnStatus{Conversation: conversationID, MessageID: message, Turn: int(*r.Number),
			Status: conversation.StatusAccepted, ReplySeq: -1}
		if r.RunID != nil {
			out.Run = *r.RunID
		}
		if *r.Status != conversation.StatusEnded {
			return nil
		}
		out.Status, out.Reason = conversation.StatusEnded, *r.Reason
		if r.ReplySeq != nil {
			out.ReplySeq = int(*r.ReplySeq)
		}
		if r.Content != nil {
			out.Reply = *r.Content
		}
		return nil
	})
	return out, err
}

func noConversation(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("conversation %q not found", name),
		"list the conversations with `cairn conversations list`")
}

// MessageText reads the text of one message.
func (q ConversationViewRepository) MessageText(ctx context.Context, conversationID int64, seq int) (string, error) {
	r, err := q.q.MessageGet(ctx, dbsqlc.MessageGetParams{WorkspaceID: q.ws, ConversationID: conversationID,
		Seq: int32(seq)})
	return r.Content, classify("read the message", err)
}

// maxStatements limits the statements of a conversation that are read.
const maxStatements = 100

// Statements lists how people state that a conversation ended, the latest first.
func (q ConversationViewRepository) Statements(
	ctx context.Context,
	conversation int64,
) ([]transcript.Statement, error) {
	rows, err := q.q.OutcomesList(ctx, dbsqlc.OutcomesListParams{WorkspaceID: q.ws, ConversationID: conversation,
		MaxRows: maxStatements})
	out := make([]transcript.Statement, len(rows))
	for i, r := range rows {
		out[i] = transcript.Statement{
			Voter:   r.Voter,
			Outcome: transcript.Verdict(r.Outcome),
			Note:    r.Note,
			At:      r.StatedAt,
		}
	}
	return out, classify("read the outcomes", err)
}
