package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/inspect"
	"cairn/internal/service/library"
)

// ConversationPath is the path parameter that names a conversation.
type ConversationPath struct {
	ID string `path:"id" maxLength:"200" doc:"The caller's ID of the conversation"`
}

// ConversationList is a page of conversations, the latest first.
type ConversationList struct {
	Conversations []conversation.View `json:"conversations"`
	NextCursor    string              `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// MessageList is a page of a conversation's messages, the oldest first.
type MessageList struct {
	Messages   []conversation.Line `json:"messages"`
	NextCursor string              `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// CancelResult reports whether a turn was canceled.
type CancelResult struct {
	Cancelled bool `json:"cancelled" doc:"False if the turn does not exist or has ended"`
}

func (g *Gateway) conversationRoutes() {
	const path = "/v1/conversations/{id}"
	handle(g, route{method: http.MethodGet, path: "/v1/conversations", id: "listConversations", tag: tagTurns,
		scope: access.Read, summary: "List conversations, the latest first"}, g.listConversations)
	handle(g, route{
		method:  http.MethodGet,
		path:    path,
		id:      "showConversation",
		tag:     tagTurns,
		scope:   access.Read,
		summary: "Get a conversation with its counters and reviews",
		about: "Each nudge is listed with its review and the entries that the review wrote. While the workflow " +
			"runs, live is the workflow's current state.",
	}, g.showConversation)
	handle(g, route{method: http.MethodGet, path: path + "/messages", id: "listMessages", tag: tagTurns,
		scope: access.Read, summary: "List the messages of a conversation, the oldest first"},
		g.listMessages)
	handle(g, route{method: http.MethodPost, path: path + "/cancel", id: "cancelTurn", tag: tagTurns,
		scope: access.Write, status: http.StatusAccepted, summary: "Cancel a turn",
		about: "The turn ends with the reply produced so far. What it wrote stays."}, g.cancelTurn)
	handle(g, route{
		method:  http.MethodPost,
		path:    path + "/end",
		id:      "endConversation",
		tag:     tagTurns,
		scope:   access.Write,
		summary: "End a conversation",
		about: "Messages that were not reviewed are reviewed if there are enough. The next message reopens the " +
			"conversation with its history.",
	}, g.endConversation)
	handle(g, route{
		method:  http.MethodPut,
		path:    path + "/outcome",
		id:      "stateOutcome",
		tag:     tagTurns,
		scope:   access.Write,
		summary: "State how a conversation ended",
		about: "The skills that its turns have used pass or fail with it. A skill that fails three times in a row is " +
			"rolled back to its last proven version, or becomes a draft; the inbox shows it. A later distillation of " +
			"the conversation uses the outcome. A key has one statement on a conversation; of several keys, the " +
			"latest counts.",
	}, g.stateOutcome)
}

// OutcomeResult is the effect of a stated outcome.
type OutcomeResult struct {
	Voter  string              `json:"voter" doc:"Who stated it: key/ID of the API key. Its later statement replaces this one"`
	Skills []library.UseEffect `json:"skills" doc:"The skills that the turns of the conversation have used"`
}

func (g *Gateway) stateOutcome(ctx context.Context, in *struct {
	ConversationPath
	Body struct {
		Outcome string `json:"outcome" enum:"success,failure,unknown" doc:"unknown withdraws the statement"`
		Note    string `json:"note,omitempty" maxLength:"1000"`
	}
}) (*bodyOf[OutcomeResult], error) {
	out := &bodyOf[OutcomeResult]{OutcomeResult{Voter: audit.From(ctx).Voter()}}
	skills, err := g.Library.State(ctx, workspace(ctx), in.ID, transcript.Statement{Voter: out.Body.Voter,
		Outcome: transcript.Verdict(in.Body.Outcome), Note: in.Body.Note})
	out.Body.Skills = skills
	return out, err
}

func (g *Gateway) listConversations(ctx context.Context, in *struct {
	Q       string `query:"q" maxLength:"200" doc:"Text in the ID or title"`
	Channel string `query:"channel" enum:"chat,voice,sms,scheduled,import" doc:"Only conversations of this channel"`
	Limit   int    `query:"limit" default:"20" minimum:"1" maximum:"200"`
	Cursor  string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[ConversationList], error) {
	page, next, err := g.Explore.Conversations(ctx, workspace(ctx),
		readmodel.ConversationFilter{Query: in.Q, Channel: in.Channel}, in.Cursor, in.Limit)
	return &bodyOf[ConversationList]{ConversationList{append([]conversation.View{}, page...), next}}, err
}

func (g *Gateway) showConversation(ctx context.Context, in *ConversationPath) (*bodyOf[inspect.ConversationDetail],
	error) {
	out, err := g.Conversations.Show(ctx, asking(ctx).Workspace, in.ID)
	out.Link = g.Options.WorkflowLink(out.WorkflowID)
	return &bodyOf[inspect.ConversationDetail]{out}, err
}

func (g *Gateway) listMessages(ctx context.Context, in *struct {
	ConversationPath
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" doc:"next_cursor of the previous page, or the seq of the last message that you have"`
}) (*bodyOf[MessageList], error) {
	after, err := cursor(in.Cursor, -1, 32)
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
	MessageID string `query:"message_id" maxLength:"200" doc:"Message whose turn is canceled, whether running or queued; default: the running turn"`
}) (*bodyOf[CancelResult], error) {
	asked, err := g.Conversations.Cancel(ctx, asking(ctx).Workspace, in.ID, in.MessageID)
	return &bodyOf[CancelResult]{CancelResult{asked}}, err
}

func (g *Gateway) endConversation(ctx context.Context, in *ConversationPath) (*bodyOf[inspect.ConversationDetail],
	error) {
	out, err := g.Conversations.End(ctx, asking(ctx).Workspace, in.ID)
	out.Link = g.Options.WorkflowLink(out.WorkflowID)
	return &bodyOf[inspect.ConversationDetail]{out}, err
}

// cursor parses a list cursor, a number of at most so many bits. An empty cursor is the start of the list.
func cursor(text string, start int64, bits int) (int64, error) {
	if text == "" {
		return start, nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || n < 0 {
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid query.cursor %q", text),
			"send the next_cursor of the previous page, or omit cursor")
	}
	return n, nil
}
