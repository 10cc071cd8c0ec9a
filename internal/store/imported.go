package store

import (
	"context"
	"slices"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// putImported stores an imported conversation. A conversation of the same session whose messages are its first ones
// gets the others. If a longer version is stored, nothing changes. Otherwise, for example after a session file was
// rewritten, it is a conversation of its own.
func (q TranscriptRepository) putImported(ctx context.Context, c transcript.Conversation) (at conversation.ImportPlace,
	err error) {
	key, ok := c.SessionKey()
	if !ok {
		at.Number, err = q.PutConversation(ctx, c, conversation.ImportChannel)
		at.ID = c.ID
		return at, err
	}
	err = q.q.ImportedSessionLock(ctx, dbsqlc.ImportedSessionLockParams{Session: key, WorkspaceID: q.ws})
	if err != nil {
		return at, classify("lock a session", err)
	}
	rows, err := q.q.ImportedSessionConversations(ctx, dbsqlc.ImportedSessionConversationsParams{
		WorkspaceID: q.ws, Session: key, Channel: conversation.ImportChannel})
	if err != nil {
		return at, classify("find the conversations of a session", err)
	}
	c.Messages = storableMessages(c.Messages)
	for _, r := range rows {
		first, err := q.Conversation(ctx, r.ID, 0, 0) // most others of a session, such as sub-agents, begin differently
		if err != nil {
			return at, err
		}
		if !transcript.Continues(first.Messages, c.Messages) {
			continue
		}
		stored, err := q.Conversation(ctx, r.ID, 0, int(r.NextSeq))
		if err != nil {
			return at, err
		}
		if at = (conversation.ImportPlace{Number: r.ID, ID: r.ExternalID}); transcript.Continues(c.Messages,
			stored.Messages) {
			at.Longer = len(stored.Messages) > len(c.Messages)
			return at, nil
		}
		if transcript.Continues(stored.Messages, c.Messages) {
			return at, q.extend(ctx, r.ID, int(r.NextSeq), c.Messages)
		}
	}
	number, err := q.PutConversation(ctx, c, conversation.ImportChannel)
	if err != nil {
		return at, err
	}
	return conversation.ImportPlace{Number: number, ID: c.ID}, classify("store the session of a conversation",
		q.q.ImportedSessionPut(ctx, dbsqlc.ImportedSessionPutParams{Session: key, WorkspaceID: q.ws, ID: number}))
}

// extend adds the messages that a conversation does not have.
func (q TranscriptRepository) extend(ctx context.Context, id int64, stored int, all []transcript.Message) error {
	added := slices.Clone(all[stored:])
	if err := q.putMessagesFrom(ctx, id, stored, added); err != nil {
		return err
	}
	n, err := q.q.ConversationAdvance(ctx, dbsqlc.ConversationAdvanceParams{NextSeq: int32(len(all)),
		Dated: dated(added), WorkspaceID: q.ws, ID: id, Was: int32(stored)})
	return oneRow("advance the conversation", n, err)
}

// storableMessages returns messages as they are read back, so that they can be compared with stored ones.
func storableMessages(ms []transcript.Message) []transcript.Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].Content, out[i].ToolCallID = storable(out[i].Content), storable(out[i].ToolCallID)
	}
	return out
}
