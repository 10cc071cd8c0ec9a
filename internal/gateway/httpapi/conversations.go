package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/inspect"
)

// ConversationPath names a conversation.
type ConversationPath struct {
	ID string `path:"id" maxLength:"200" doc:"The caller's id of the thread"`
}

// ConversationList is a page of conversations, the latest first.
type ConversationList struct {
	Conversations []conversation.View `json:"conversations"`
	NextCursor    string              `json:"next_cursor,omitempty" doc:"Send it as cursor for the next page; absent on the last one"`
}

// MessageList is a page of a transcript, in the order in which it was said.
type MessageList struct {
	Messages   []conversation.Line `json:"messages"`
	NextCursor string              `json:"next_cursor,omitempty" doc:"Send it as cursor for the next page; absent on the last one"`
}

// CancelResult tells whether there was anything to cancel.
type CancelResult struct {
	Cancelled bool `json:"cancelled" doc:"False when there is no such turn, or it has ended"`
}

func (g *Gateway) conversationRoutes() {
	const path = "/v1/conversations/{id}"
	handle(g, route{method: http.MethodGet, path: "/v1/conversations", id: "listConversations", tag: tagTurns,
		scope: apikey.Read, summary: "List the conversations, the latest first"}, g.listConversations)
	handle(g, route{method: http.MethodGet, path: path, id: "showConversation", tag: tagTurns, scope: apikey.Read,
		summary: "Show a conversation with its counters and reviews",
		about: "Of each nudge, the review in the background, with what it wrote. While the conversation runs, live " +
			"is what its workflow knows."}, g.showConversation)
	handle(g, route{method: http.MethodGet, path: path + "/messages", id: "listMessages", tag: tagTurns,
		scope: apikey.Read, summary: "List the messages of a conversation in the order in which they were said"},
		g.listMessages)
	handle(g, route{method: http.MethodPost, path: path + "/cancel", id: "cancelTurn", tag: tagTurns,
		scope: apikey.Write, status: http.StatusAccepted, summary: "Stop the turn that is being answered",
		about: "It is answered with what is there. What it has written stays."}, g.cancelTurn)
	handle(g, route{method: http.MethodPost, path: path + "/end", id: "endConversation", tag: tagTurns,
		scope: apikey.Write, summary: "End a conversation",
		about: "What was not reviewed yet is, when it is worth it. The next message begins the conversation again, " +
			"with its history."}, g.endConversation)
}

func (g *Gateway) listConversations(ctx context.Context, in *struct {
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}) (*bodyOf[ConversationList], error) {
	before, err := cursor(in.Cursor, 0)
	if err != nil {
		return nil, err
	}
	out := &bodyOf[ConversationList]{}
	out.Body.Conversations, err = g.Conversations.List(ctx, workspace(ctx), before, in.Limit+1)
	if all := out.Body.Conversations; len(all) > in.Limit {
		out.Body.Conversations, out.Body.NextCursor = all[:in.Limit], fmt.Sprint(all[in.Limit-1].ID)
	}
	return out, err
}

func (g *Gateway) showConversation(ctx context.Context, in *ConversationPath) (*bodyOf[inspect.ConversationDetail],
	error) {
	out, err := g.Conversations.Show(ctx, asking(ctx).Workspace, in.ID)
	return &bodyOf[inspect.ConversationDetail]{out}, err
}

func (g *Gateway) listMessages(ctx context.Context, in *struct {
	ConversationPath
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before, or the seq of the last message that was seen"`
}) (*bodyOf[MessageList], error) {
	after, err := cursor(in.Cursor, -1)
	if err != nil {
		return nil, err
	}
	out := &bodyOf[MessageList]{}
	out.Body.Messages, err = g.Conversations.Lines(ctx, workspace(ctx), in.ID, int(after), in.Limit+1)
	if all := out.Body.Messages; len(all) > in.Limit {
		out.Body.Messages, out.Body.NextCursor = all[:in.Limit], fmt.Sprint(all[in.Limit-1].Seq)
	}
	return out, err
}

func (g *Gateway) cancelTurn(ctx context.Context, in *struct {
	ConversationPath
	MessageID string `query:"message_id" maxLength:"200" doc:"The turn of this message, whether it is being answered or waits; without it, whichever is being answered"`
}) (*bodyOf[CancelResult], error) {
	asked, err := g.Conversations.Cancel(ctx, asking(ctx).Workspace, in.ID, in.MessageID)
	return &bodyOf[CancelResult]{CancelResult{asked}}, err
}

func (g *Gateway) endConversation(ctx context.Context, in *ConversationPath) (*bodyOf[inspect.ConversationDetail],
	error) {
	out, err := g.Conversations.End(ctx, asking(ctx).Workspace, in.ID)
	return &bodyOf[inspect.ConversationDetail]{out}, err
}

// cursor reads a place in a list; the empty one is where the list begins.
func cursor(text string, start int64) (int64, error) {
	if text == "" {
		return start, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("query.cursor is %q", text),
			"send the next_cursor of the page before, or none")
	}
	return n, nil
}
