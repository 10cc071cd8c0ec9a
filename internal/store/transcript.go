package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/fault"
	"cairn/internal/store/dbsqlc"
	"cairn/internal/transcript"
)

// PutConversation stores a conversation that is handed in as a whole, and
// returns its id. One that is stored already, under the same id, must have the
// same number of messages.
func (q Queries) PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error) {
	row, err := q.q.ConversationPut(ctx, dbsqlc.ConversationPutParams{WorkspaceID: q.ws, ExternalID: c.ID, Channel: channel, Title: c.Title, Reward: c.Reward})
	if err != nil {
		return 0, classify("store the conversation", err)
	}
	if row.NextSeq == int32(len(c.Messages)) {
		return row.ID, nil
	}
	if row.NextSeq != 0 {
		return 0, fault.New(fault.VersionConflict, fmt.Sprintf("conversation %q is stored with %d messages, this one has %d", c.ID, row.NextSeq, len(c.Messages)), "give it another id")
	}
	if err := q.putMessages(ctx, row.ID, c.Messages); err != nil {
		return 0, err
	}
	n, err := q.q.ConversationAdvance(ctx, dbsqlc.ConversationAdvanceParams{NextSeq: int32(len(c.Messages)), WorkspaceID: q.ws, ID: row.ID, Was: 0})
	return row.ID, oneRow("advance the conversation", n, err)
}

func (q Queries) putMessages(ctx context.Context, conversation int64, ms []transcript.Message) error {
	p := dbsqlc.MessagesPutParams{WorkspaceID: q.ws, ConversationID: conversation}
	for i, m := range ms {
		calls := []byte("[]")
		if len(m.ToolCalls) > 0 {
			raw, err := json.Marshal(m.ToolCalls)
			if err != nil {
				return fmt.Errorf("encode the tool calls of message %d: %w", i, err)
			}
			calls = bytes.ReplaceAll(raw, []byte(`\u0000`), []byte(`\ufffd`)) // jsonb cannot hold it
		}
		id := m.ID
		if id == "" {
			id = fmt.Sprint(i)
		}
		p.Seqs = append(p.Seqs, int32(i))
		p.ExternalIds = append(p.ExternalIds, storable(id))
		p.Roles = append(p.Roles, string(m.Role))
		p.Contents = append(p.Contents, storable(m.Content))
		p.Names = append(p.Names, storable(m.Name))
		p.ToolCalls = append(p.ToolCalls, string(calls))
		p.ToolCallIds = append(p.ToolCallIds, storable(m.ToolCallID))
		at := "" // null
		if !m.Time.IsZero() {
			at = m.Time.Format(time.RFC3339Nano)
		}
		p.EventTimes = append(p.EventTimes, at)
	}
	n, err := q.q.MessagesPut(ctx, p)
	if err == nil && n != int64(len(ms)) {
		err = fmt.Errorf("%d of %d messages stored", n, len(ms))
	}
	return classify("store the messages", err)
}

// Conversation reads a conversation with the messages from..to, both included.
func (q Queries) Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error) {
	head, err := q.q.ConversationGet(ctx, dbsqlc.ConversationGetParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return transcript.Conversation{}, classify("read the conversation", err)
	}
	rows, err := q.q.MessagesRange(ctx, dbsqlc.MessagesRangeParams{WorkspaceID: q.ws, ConversationID: id, FromSeq: int32(from), ToSeq: int32(to)})
	if err != nil {
		return transcript.Conversation{}, classify("read the messages", err)
	}
	out := transcript.Conversation{ID: head.ExternalID, Title: head.Title, Reward: head.Reward, Messages: make([]transcript.Message, len(rows))}
	for i, r := range rows {
		m := transcript.Message{ID: r.ExternalID, Seq: int(r.Seq), Role: transcript.Role(r.Role), Content: r.Content, Name: r.Name, ToolCallID: r.ToolCallID}
		if r.EventTime != nil {
			m.Time = r.EventTime.In(time.UTC)
		}
		if err := json.Unmarshal(r.ToolCalls, &m.ToolCalls); err != nil {
			return out, fmt.Errorf("decode the tool calls of message %d: %w", r.Seq, err)
		}
		out.Messages[i] = m
	}
	return out, nil
}

// Channel is the channel of a conversation.
func (q Queries) Channel(ctx context.Context, id int64) (string, error) {
	channel, err := q.q.ConversationChannel(ctx, dbsqlc.ConversationChannelParams{WorkspaceID: q.ws, ID: id})
	return channel, classify("read the conversation", err)
}
