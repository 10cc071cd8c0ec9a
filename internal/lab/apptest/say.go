package apptest

import (
	"context"
	"fmt"

	"cairn/internal/app"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// Message returns a request for one incoming message in the test's workspace.
func (b *Bundle) Message(conversationID, id, text string) conversation.Request {
	return conversation.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Conversation: conversationID,
		Channel: "chat", MessageID: id, Text: text, Spec: app.TurnSpec(b.Config)}
}

// Say sends a message and waits for its reply.
func (b *Bundle) Say(conversationID string, n int, text string,
	change ...func(*conversation.Request)) domainconversation.TurnStatus {
	b.T.Helper()
	r := b.Message(conversationID, fmt.Sprintf("m%d", n), text)
	for _, f := range change {
		f(&r)
	}
	ctx, cancel := context.WithTimeout(b.T.Context(), patience)
	defer cancel()
	out, err := b.App.Messages.SendMessage(ctx, r)
	testkit.Must(b.T, err)
	if out.Status != "ended" {
		b.T.Fatalf("message %s of %s is %s after %s", r.MessageID, conversationID, out.Status, patience)
	}
	return out
}
