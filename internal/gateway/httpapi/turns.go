package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
)

// TurnRequest is one incoming message, or an exchange that the caller's own
// agent has had.
type TurnRequest struct {
	Conversation string           `json:"conversation" minLength:"1" maxLength:"200" doc:"The caller's id of the thread; the first message makes it"`
	MessageID    string           `json:"message_id" minLength:"1" maxLength:"200" doc:"The channel's id of the message: the same message is answered once"`
	Channel      string           `json:"channel,omitempty" maxLength:"200" doc:"Decides how long an answer may take: voice, sms, chat or scheduled; any other is treated as sms. chat when left out" example:"chat"`
	Text         string           `json:"text,omitempty" doc:"What was said, in mode answer"`
	Messages     []DistillMessage `json:"messages,omitempty" maxItems:"200" doc:"What was said and done, in mode observe, the user's message first"`
	Mode         string           `json:"mode,omitempty" enum:"answer,observe" doc:"observe when an agent of the caller's has answered already: the exchange is recorded, counted and reviewed"`
	Origin       string           `json:"origin,omitempty" enum:"user,scheduled,heartbeat,subagent" doc:"user when left out; the others count for no review"`
	MaxTurns     int              `json:"max_turns_override,omitempty" minimum:"1" maximum:"50" doc:"Model responses at most, in place of the channel's budget"`
	Wait         *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for the answer; 60 when left out"`
}

// TurnAnswer is a message with what became of it.
type TurnAnswer struct {
	conversation.TurnStatus
	Links TurnLinks `json:"links"`
}

// TurnLinks are where to look for an answer.
type TurnLinks struct {
	Self         string `json:"self"`
	Conversation string `json:"conversation"`
	Run          string `json:"run"`
	Events       string `json:"events" doc:"Server-sent events until the answer is there"`
}

type turnOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     TurnAnswer
}

const usualWait = 60 * time.Second

func (g *Gateway) turnRoutes() {
	answer := content("application/json", schemaOf[TurnAnswer](g))
	handle(g, route{method: http.MethodPost, path: "/v1/turns", id: "turn", tag: tagTurns, scope: apikey.Write,
		status: http.StatusOK, bytes: smallBody,
		summary: "Answer one message of a conversation",
		about: "The message is durable before it is acknowledged, and is answered whatever happens to the caller; " +
			"turns of a conversation follow each other. " +
			"The same message gives the same answer, at any time; another text under its id is refused.",
		responses: map[string]*huma.Response{"200": {Description: "The answer", Content: answer},
			"202": {Description: "Accepted, and not answered yet", Content: answer}},
	}, g.turn)
	handle(g, route{method: http.MethodGet, path: "/v1/conversations/{id}/messages/{message_id}", id: "showTurn",
		tag: tagTurns, scope: apikey.Read, summary: "Show what became of a message"}, g.showTurn)
}

func (g *Gateway) turn(ctx context.Context, in *struct{ Body TurnRequest }) (*turnOutput, error) {
	from := asking(ctx)
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	r.Workspace, r.WorkspaceKey, r.Spec = from.Workspace.ID, from.Workspace.Key, g.Options.TurnSpec()
	accepted, err := g.Inbox.Accept(ctx, r)
	if err != nil {
		return nil, err
	}
	if !accepted.Turn.Ended {
		wait := usualWait
		if in.Body.Wait != nil {
			wait = time.Duration(*in.Body.Wait) * time.Second
		}
		if err := g.answer(ctx, r, accepted.Run, wait); err != nil {
			return nil, err
		}
	}
	return g.answered(ctx, r.Conversation, r.MessageID)
}

func (b TurnRequest) request() (conversation.Request, error) {
	r := conversation.Request{Conversation: b.Conversation, Channel: b.Channel, MessageID: b.MessageID,
		Origin: b.Origin, Text: b.Text, Mode: b.Mode, MaxTurns: b.MaxTurns}
	if len(b.Messages) == 0 {
		return r, nil
	}
	if b.Mode != contract.Observe {
		return r, fault.New(fault.InvalidArgument, "messages are for mode observe",
			"send the text of one message, or set mode to observe")
	}
	raw, err := json.Marshal(b.Messages)
	if err != nil {
		return r, fmt.Errorf("encode the messages: %w", err)
	}
	all, err := transcript.Parse("messages", bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return r, err
	}
	if len(all) == 1 {
		r.Messages = all[0].Messages
	}
	return r, nil
}

// answer brings a stored turn to its conversation and waits for its answer as long
// as the caller wishes to. The relay brings what could not be brought.
func (g *Gateway) answer(ctx context.Context, r conversation.Request, accepted run.Run, wait time.Duration) error {
	if g.Driver == nil {
		return nil
	}
	bringing, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(wait, startPatience))
	stopped := context.AfterFunc(g.closing, cancel)
	told := make(chan struct{})
	go func() { // on its own: a caller that leaves, or does not wait, takes nothing back
		defer cancel()
		defer stopped()
		defer close(told)
		if _, err := g.Driver.Answer(bringing, r.WorkspaceKey, accepted); err != nil && bringing.Err() == nil {
			g.Log.Warn("a turn is left to the relay", "run", accepted.Ref.Run, "error", err)
		}
	}()
	if wait == 0 {
		return nil
	}
	_, err := g.await(ctx, accepted.Ref, wait, told, func() (run.Status, error) {
		a, err := g.Inbox.Answer(ctx, r.Workspace, r.Conversation, r.MessageID)
		return run.Status(a.Status), err
	})
	return err
}

func (g *Gateway) showTurn(ctx context.Context, in *struct {
	ConversationPath
	MessageID string `path:"message_id" doc:"The channel's id of the message"`
}) (*turnOutput, error) {
	out, err := g.answered(ctx, in.ID, in.MessageID)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusOK, ""
	return out, nil
}

// answered reads what became of a message.
func (g *Gateway) answered(ctx context.Context, conversation, message string) (*turnOutput, error) {
	a, err := g.Inbox.Answer(ctx, workspace(ctx), conversation, message)
	if err != nil {
		return nil, err
	}
	of := g.link("/v1/conversations/%s", url.PathEscape(conversation))
	runs := g.runLinks(a.Run, "")
	out := &turnOutput{Status: http.StatusOK,
		Body: TurnAnswer{TurnStatus: a, Links: TurnLinks{Self: of + "/messages/" + url.PathEscape(message),
			Conversation: of, Run: runs.Self, Events: runs.Events}}}
	out.Location = out.Body.Links.Self
	if a.Status != string(run.Ended) {
		out.Status = http.StatusAccepted
	}
	return out, nil
}
