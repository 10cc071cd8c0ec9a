package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/conversation"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// on sets a message's channel.
func on(channel string) func(*conversation.Request) {
	return func(r *conversation.Request) { r.Channel = channel }
}

// saying returns one tool call.
func saying(tool string, arguments any) llm.ToolCall {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // maps of strings
	}
	return llm.ToolCall{ID: "c", Name: tool, Arguments: string(raw)}
}

// looking returns a harmless call whose arguments are always different.
func looking(c openaitest.Call) []llm.ToolCall {
	return []llm.ToolCall{saying("memory_search", map[string]string{"query": fmt.Sprintf("round %d", len(c.Messages))})}
}

// asked returns the requests of a stage.
func asked(b *apptest.Bundle, stage string) (out []openaitest.Call) {
	for _, c := range b.Model.Requests() {
		if c.Stage == stage {
			out = append(out, c)
		}
	}
	return out
}

// validThreads checks that every call in every request has one result, in order and directly
// after it, and that no result lacks its call.
func validThreads(t *testing.T, b *apptest.Bundle) {
	t.Helper()
	for _, request := range b.Model.Requests() {
		var open []string
		for i, m := range request.Messages {
			switch {
			case m.Role == llm.RoleTool && (len(open) == 0 || open[0] != m.CallID):
				t.Errorf("%s %s: message %d answers call %q, open are %q", request.Stage, request.Task, i, m.CallID,
					open)
			case m.Role == llm.RoleTool:
				open = open[1:]
			case len(open) > 0:
				t.Errorf("%s %s: calls %q are not answered before message %d", request.Stage, request.Task, open, i)
				open = nil
			}
			for _, c := range m.Calls {
				if slices.Contains(open, c.ID) {
					t.Errorf("%s %s: two calls are called %q", request.Stage, request.Task, c.ID)
				}
				open = append(open, c.ID)
			}
		}
		if len(open) > 0 {
			t.Errorf("%s %s: calls %q are not answered", request.Stage, request.Task, open)
		}
	}
}

// send delivers a message to its conversation and does not wait for the reply.
func send(b *apptest.Bundle, r conversation.Request) {
	b.T.Helper()
	ctx, cancel := context.WithCancel(b.T.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.App.Messages.SendMessage(ctx, r) // what becomes of it is read from Postgres
	}()
	b.T.Cleanup(func() { cancel(); <-done })
}

// recordTurn records the history of a message's turn.
func recordTurn(b *apptest.Bundle, conversationID, message, name string) {
	b.T.Helper()
	b.RecordEnded(turnID(b, conversationID, message), name)
}

// cancel cancels the turn of a message that is running or waiting.
func cancel(b *apptest.Bundle, conversationID, message string) {
	b.T.Helper()
	if asked, err := b.Conversations.Cancel(b.T.Context(), b.Workspace, conversationID, message); err != nil || !asked {
		b.T.Fatalf("cancelling %q came to %t, %v", message, asked, err)
	}
}

// answered waits until a message has a reply.
func answered(b *apptest.Bundle, conversationID, message string) (out domainconversation.TurnStatus) {
	b.T.Helper()
	testkit.Eventually(b.T, message+" of "+conversationID+" is answered", func() bool {
		var err error
		out, err = b.App.Inbox.Answer(b.T.Context(), b.Workspace.ID, conversationID, message)
		return err == nil && out.Status == "ended"
	})
	return out
}

// view returns the row of a conversation.
func view(b *apptest.Bundle, conversationID string) (v domainconversation.View) {
	b.T.Helper()
	testkit.Must(b.T, b.Store.InWorkspace(b.T.Context(), b.Workspace.ID,
		func(_ context.Context, q store.Tx) (err error) {
			v, err = q.ConversationViews().ConversationView(b.T.Context(), conversationID)
			return err
		}))
	return v
}

// reviews returns the nudges of a conversation, the oldest first, when none is open.
func reviews(b *apptest.Bundle, conversationID string, n int) (out []domainconversation.ReviewView) {
	b.T.Helper()
	id := view(b, conversationID).ID
	testkit.Eventually(b.T, fmt.Sprintf("%d reviews have ended", n), func() bool {
		testkit.Must(b.T, b.Store.InWorkspace(b.T.Context(), b.Workspace.ID,
			func(_ context.Context, q store.Tx) (err error) {
				out, err = q.ConversationViews().Reviews(b.T.Context(), id, 100)
				return err
			}))
		return len(out) >= n && !slices.ContainsFunc(out, func(r domainconversation.ReviewView) bool {
			return r.Status == "open"
		})
	})
	slices.Reverse(out)
	return out
}

// wall sets the time limit of a turn, instead of the channel's.
func wall(d time.Duration) func(*conversation.Request) {
	return func(r *conversation.Request) { r.Spec.Budget.Wall = d }
}

// exec changes rows as the superuser.
func exec(b *apptest.Bundle, sql string, args ...any) {
	b.T.Helper()
	_, err := b.Admin().Exec(b.T.Context(), sql, args...)
	testkit.Must(b.T, err)
}

// lockMemories blocks every write of a memory until unlock is called.
func lockMemories(b *apptest.Bundle) (unlock func()) {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	_, err = conn.Exec(b.T.Context(), "select pg_advisory_lock(6, hashint8($1))", b.Workspace.ID)
	testkit.Must(b.T, err)
	return func() { conn.Close(context.Background()) }
}

// observedOn returns an exchange of another agent on a channel.
func observedOn(b *apptest.Bundle, channel string) conversation.Request {
	r := observed(b, "c", 77, "hi")
	r.Channel = channel
	return r
}

// requestOf is the SQL of a whole request in the ledger.
const requestOf = "cairn.request_of(workspace_id, conversation_id, request, parts)"
