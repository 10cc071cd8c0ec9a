package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// PutConversation stores a complete conversation and returns its ID. If the ID is already stored,
// it must have the same messages.
func (q TranscriptRepository) PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64,
	error) {
	row, err := q.q.ConversationPut(ctx, dbsqlc.ConversationPutParams{WorkspaceID: q.ws, ExternalID: storable(c.ID),
		Channel: channel, Title: storable(c.Title), Reward: c.Reward})
	if err != nil {
		return 0, classify("store the conversation", err)
	}
	if row.NextSeq != 0 {
		return row.ID, q.sameMessages(ctx, row, c)
	}
	if err := q.putMessages(ctx, row.ID, c.Messages); err != nil {
		return 0, err
	}
	n, err := q.q.ConversationAdvance(ctx,
		dbsqlc.ConversationAdvanceParams{NextSeq: int32(len(c.Messages)), Dated: dated(c.Messages), WorkspaceID: q.ws,
			ID: row.ID, Was: 0})
	return row.ID, oneRow("advance the conversation", n, err)
}

// Excerpt reads the messages from..to of a conversation, both included.
func (s *Store) Excerpt(ctx context.Context, ws, conversation int64, from, to int) (c transcript.Conversation,
	err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		c, err = q.transaction().Transcripts().Conversation(ctx, conversation, from, to)
		return err
	})
	return c, err
}

// dated reports whether any message has a time.
func dated(ms []transcript.Message) bool {
	return slices.ContainsFunc(ms, func(m transcript.Message) bool { return !m.Time.IsZero() })
}

// sameMessages returns an error if the stored messages differ. A session may have grown since.
func (q TranscriptRepository) sameMessages(ctx context.Context, row dbsqlc.ConversationPutRow,
	c transcript.Conversation) error {
	id, stored := row.ID, int(row.NextSeq)
	other := func(why string) error {
		return fault.New(fault.VersionConflict, fmt.Sprintf("conversation %q already exists, %s", c.ID, why),
			"use another conversation ID")
	}
	if stored != len(c.Messages) && !(row.Grows && stored > len(c.Messages)) {
		return other(fmt.Sprintf("with %d messages; this one has %d", stored, len(c.Messages)))
	}
	old, err := q.Conversation(ctx, id, 0, stored)
	if err != nil {
		return err
	}
	for i, m := range c.Messages {
		if old.Messages[i].Role != m.Role || old.Messages[i].Content != storable(m.Content) {
			return other(fmt.Sprintf("with another message %d", i))
		}
	}
	return nil
}

func (q TranscriptRepository) putMessages(ctx context.Context, conversation int64, ms []transcript.Message) error {
	return q.putMessagesFrom(ctx, conversation, 0, ms)
}

// putMessagesFrom stores messages, numbered from from.
func (q TranscriptRepository) putMessagesFrom(ctx context.Context, conversation int64, from int,
	ms []transcript.Message) error {
	p := dbsqlc.MessagesPutParams{WorkspaceID: q.ws, ConversationID: conversation}
	for i, m := range ms {
		calls := []byte("[]")
		if len(m.ToolCalls) > 0 {
			var err error
			if calls, err = encode(fmt.Sprintf("the tool calls of message %d", i), m.ToolCalls); err != nil {
				return err
			}
		}
		details, err := detailsOf(m)
		if err != nil {
			return err
		}
		p.Details = append(p.Details, details)
		id := m.ID
		if id == "" {
			id = fmt.Sprint(from + i)
		}
		p.Seqs = append(p.Seqs, int32(from+i))
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
	if err := someRows("store the messages", n, int64(len(ms)), err); err != nil {
		return err
	}
	last, err := q.transaction().Documents().lastSitting(ctx, conversation, from)
	if err != nil {
		return err
	}
	numbered := slices.Clone(ms)
	for i := range numbered {
		numbered[i].Seq = from + i
	}
	return q.transaction().Documents().indexTurns(ctx, conversation, numbered, last, false)
}

// detailsOf returns the details of a message as JSON text without NUL.
func detailsOf(m transcript.Message) (string, error) {
	if m.Details.Empty() {
		return "{}", nil
	}
	m.Reasoning = storable(m.Reasoning)
	raw, err := encode("the details of a message", m.Details)
	return string(raw), err
}

// readDetails decodes the details of a message. Few messages have any.
func readDetails(raw []byte) (d transcript.Details, err error) {
	if string(raw) == "{}" {
		return d, nil
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("decode the details of a message: %w", err)
	}
	return d, nil
}

// Conversation reads a conversation with the messages from..to, both inclusive.
func (q TranscriptRepository) Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation,
	error) {
	head, err := q.q.ConversationGet(ctx, dbsqlc.ConversationGetParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return transcript.Conversation{}, classify("read the conversation", err)
	}
	rows, err := q.q.MessagesRange(ctx, dbsqlc.MessagesRangeParams{WorkspaceID: q.ws, ConversationID: id,
		FromSeq: int32(from), ToSeq: int32(to)})
	if err != nil {
		return transcript.Conversation{}, classify("read the messages", err)
	}
	out := transcript.Conversation{ID: head.ExternalID, Title: head.Title, Reward: head.Reward,
		Stated: transcript.Verdict(head.Outcome), Messages: make([]transcript.Message, len(rows))}
	for i, r := range rows {
		m := transcript.Message{ID: r.ExternalID, Seq: int(r.Seq), Role: transcript.Role(r.Role), Content: r.Content,
			Name: r.Name, ToolCallID: r.ToolCallID}
		if r.EventTime != nil {
			m.Time = r.EventTime.In(time.UTC)
		}
		if err := json.Unmarshal(r.ToolCalls, &m.ToolCalls); err != nil {
			return out, fmt.Errorf("decode the tool calls of message %d: %w", r.Seq, err)
		}
		if m.Details, err = readDetails(r.Details); err != nil {
			return out, err
		}
		out.Messages[i] = m
	}
	return out, nil
}

// Channel returns the channel of a conversation.
func (q TranscriptRepository) Channel(ctx context.Context, id int64) (string, error) {
	channel, err := q.q.ConversationChannel(ctx, dbsqlc.ConversationChannelParams{WorkspaceID: q.ws, ID: id})
	return channel, classify("read the conversation", err)
}
