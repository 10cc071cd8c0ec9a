package conversation_test

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// bundle is the service over a fresh database with two workspaces.
type bundle struct {
	*conversation.Service
	*db
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: pgtest.Open(t)}
	b.Service = &conversation.Service{Ports: conversation.Ports{Store: b.Conversations()}}
	return b
}

// message is a text on channel chat of workspace A.
func (b *bundle) message(conversationID, id, text string) conversation.Request {
	return conversation.Request{Workspace: b.A.ID, WorkspaceKey: b.A.Key, Conversation: conversationID,
		Channel: agent.ChannelChat, MessageID: id, Text: text}
}

// observed is an exchange that the caller's agent has had.
func (b *bundle) observed(conversationID, id string, said ...transcript.Message) conversation.Request {
	r := b.message(conversationID, id, "")
	r.Mode, r.Messages = contract.Observe, said
	return r
}

// accept accepts a message.
func (b *bundle) accept(r conversation.Request) conversation.AcceptedTurn {
	b.t.Helper()
	out, err := b.Accept(b.t.Context(), r)
	testkit.Must(b.t, err)
	return out
}

// answer returns the status of a message of workspace A.
func (b *bundle) answer(conversationID, message string) domainconversation.TurnStatus {
	b.t.Helper()
	out, err := b.Answer(b.t.Context(), b.A.ID, conversationID, message)
	testkit.Must(b.t, err)
	return out
}

// end interrupts a turn, which ends it without a model call.
func (b *bundle) end(ctx context.Context, turn run.Ref) error {
	none, err := tools.NewRegistry()
	if err != nil {
		return err
	}
	runs := &agentrun.Service{Ports: agentrun.Ports{Store: b.Store, Tools: none}}
	_, err = runs.Close(ctx, pgtest.CloseAgent(turn, agent.Interrupted))
	return err
}

// rows counts all rows that a message can create.
func (b *bundle) rows() string {
	b.t.Helper()
	return b.Rows("conversations", "turns", "runs", "messages", "search_docs", "outbox")
}
