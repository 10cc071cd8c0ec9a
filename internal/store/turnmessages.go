package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// PutMessages stores the messages of a turn, numbered from seq.
func (q TranscriptRepository) PutMessages(ctx context.Context, c conversation.Conversation, turn int,
	ms []transcript.Message) error {
	conversation, seq := c.ID, c.NextSeq
	p := dbsqlc.TurnMessagesPutParams{WorkspaceID: q.ws, ConversationID: conversation, Turn: int32(turn)}
	for i, m := range ms {
		calls := []byte("[]")
		if len(m.ToolCalls) > 0 {
			var err error
			if calls, err = encode(fmt.Sprintf("the tool calls of message %d", seq+i), m.ToolCalls); err != nil {
				return err
			}
		}
		p.Seqs = append(p.Seqs, int32(seq+i))
		p.ExternalIds = append(p.ExternalIds, storable(m.ID))
		p.Roles = append(p.Roles, string(m.Role))
		p.Contents = append(p.Contents, storable(m.Content))
		p.Names = append(p.Names, storable(m.Name))
		p.ToolCalls = append(p.ToolCalls, string(calls))
		p.ToolCallIds = append(p.ToolCallIds, storable(m.ToolCallID))
		details, err := detailsOf(m)
		if err != nil {
			return err
		}
		p.Details = append(p.Details, details)
	}
	n, err := q.q.TurnMessagesPut(ctx, p)
	return someRows("store the messages", n, int64(len(ms)), err)
}

// Messages reads the messages of the turns after one turn up to another, turn by turn.
func (q TranscriptRepository) Messages(ctx context.Context, conversation int64, after,
	to int) ([]conversation.TurnMessage,
	error) {
	rows, err := q.q.TurnMessages(ctx, dbsqlc.TurnMessagesParams{WorkspaceID: q.ws, ConversationID: conversation,
		AfterTurn: int32(after), ToTurn: int32(to)})
	if err != nil {
		return nil, classify("read the messages", err)
	}
	return turnMessagesOf(rows)
}

func turnMessagesOf(rows []dbsqlc.TurnMessagesRow) ([]conversation.TurnMessage, error) {
	out := make([]conversation.TurnMessage, len(rows))
	for i, r := range rows {
		m := transcript.Message{ID: r.ExternalID, Seq: int(r.Seq), Role: transcript.Role(r.Role), Content: r.Content,
			Name: r.Name, ToolCallID: r.ToolCallID}
		if r.EventTime != nil {
			m.Time = r.EventTime.In(time.UTC)
		}
		if string(r.ToolCalls) != "[]" { // few messages have tool calls
			if err := json.Unmarshal(r.ToolCalls, &m.ToolCalls); err != nil {
				return out, fmt.Errorf("decode the tool calls of message %d: %w", r.Seq, err)
			}
		}
		details, err := readDetails(r.Details)
		if err != nil {
			return out, err
		}
		m.Details = details
		out[i] = conversation.TurnMessage{Turn: int(*r.Turn), Message: m}
	}
	return out, nil
}
