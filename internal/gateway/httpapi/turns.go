package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/conversation"
)

// TurnRequest is one incoming message, or an exchange that the caller's own agent has
// already had (an observed turn).
type TurnRequest struct {
	Conversation string           `json:"conversation" minLength:"1" maxLength:"200" doc:"The caller's ID of the conversation; the first message creates it"`
	MessageID    string           `json:"message_id" minLength:"1" maxLength:"200" doc:"The caller's ID of the message; a message gets one reply"`
	Channel      string           `json:"channel,omitempty" maxLength:"200" doc:"Channel, which sets the budget: voice, sms, chat (default) or scheduled; any other value has the budget of sms" example:"chat"`
	Text         string           `json:"text,omitempty" doc:"The user's message, in mode answer"`
	Speaker      *Speaker         `json:"speaker,omitempty" doc:"Who wrote the text, if the conversation has several users. The model reads it as name: text"`
	Attachments  []TurnAttachment `json:"attachments,omitempty" maxItems:"5" doc:"Images and voice messages of the user's message, in mode answer. If one is not read, the reply states why"`
	Messages     []DistillMessage `json:"messages,omitempty" maxItems:"200" doc:"The messages of the exchange in mode observe, the user's message first"`
	Mode         string           `json:"mode,omitempty" enum:"answer,observe" doc:"answer (default) produces a reply. observe records, counts and reviews an exchange that the caller's agent has answered"`
	Origin       string           `json:"origin,omitempty" enum:"user,scheduled,heartbeat,subagent" doc:"Origin of the message, default user; other origins start no review"`
	MaxTurns     int              `json:"max_turns_override,omitempty" minimum:"1" maximum:"50" doc:"Maximum number of model responses, instead of the channel's budget"`
	StreamOption
	Wait *int `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for the reply; default 60"`
}

// Speaker is a user of a conversation with several users.
type Speaker struct {
	ID   string `json:"id" minLength:"1" maxLength:"100" doc:"The caller's ID of the user"`
	Name string `json:"name,omitempty" maxLength:"100" doc:"The name to show; default: the ID"`
}

// TurnAttachment is an image or a voice message. Its content decides which.
type TurnAttachment struct {
	Name string `json:"name,omitempty" maxLength:"100" doc:"Name that the model reads for an image"`
	Type string `json:"type,omitempty" maxLength:"100" doc:"MIME type; needed only for recordings in MP4 or WebM, which look like videos" example:"audio/mp4"`
	Data []byte `json:"data" doc:"Content in base64: PNG, JPEG, GIF or WebP up to 10 MB, or a recording up to 25 MB"`
}

// TurnAnswer is a turn with its reply.
type TurnAnswer struct {
	domainconversation.TurnStatus
	Links TurnLinks `json:"links"`
}

// TurnLinks holds the URLs of a turn.
type TurnLinks struct {
	Self         string `json:"self"`
	Conversation string `json:"conversation"`
	Run          string `json:"run"`
	Events       string `json:"events" doc:"Server-sent events until the turn ends"`
}

type turnOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     TurnAnswer
}

const usualWait = 60 * time.Second

func (g *Gateway) turnRoutes() {
	answer := content("application/json", schemaOf[TurnAnswer](g))
	replies := replyEvents(g)
	handle(g, route{method: http.MethodPost, path: "/v1/turns", id: "turn", tag: tagTurns, scope: access.Write,
		status:  http.StatusOK,
		summary: "Send a message and get the reply",
		about: "The message is stored durably before the response. The turn continues if the caller disconnects; " +
			"turns of a conversation run one after another. " +
			"The same message always returns the same reply. A different text with a known message_id is rejected." +
			replyAbout,
		responses: map[string]*huma.Response{"200": {Description: "The reply, or its events", Content: replies},
			"202": {Description: "Accepted, no reply yet", Content: answer}},
	}, g.turn)
	handle(g, route{method: http.MethodGet, path: "/v1/conversations/{id}/messages/{message_id}", id: "showTurn",
		tag: tagTurns, scope: access.Read, summary: "Get the turn of a message"}, g.showTurn)
	handle(g, route{method: http.MethodGet, path: "/v1/conversations/{id}/messages/{message_id}/stream",
		id: "streamTurn", tag: tagTurns, scope: access.Read, summary: "Stream the reply to a message",
		about: "The same events as those of POST /v1/turns with stream, for a client that lost its connection: it " +
			"sends the ID of the last event. Text of a reply is kept for ten minutes; the event `end` always has " +
			"the whole reply.",
		responses: map[string]*huma.Response{"200": {Description: "The events of the reply",
			Content: map[string]*huma.MediaType{edge.EventText: replies[edge.EventText]}}}}, g.streamTurn)
}

func (g *Gateway) turn(ctx context.Context, in *struct{ Body TurnRequest }) (*repliedOutput, error) {
	from := asking(ctx)
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	r.Workspace, r.WorkspaceKey, r.Spec = from.Workspace.ID, from.Workspace.Key, g.Options.TurnSpec()
	if err := in.Body.attach(&r); err != nil {
		return nil, err
	}
	if r.Spec.Stream = in.Body.Stream; r.Spec.Stream { // before work starts
		if err := g.streamRoom(ctx); err != nil {
			return nil, err
		}
	}
	accepted, err := g.Inbox.Accept(ctx, r)
	if err != nil {
		return nil, err
	}
	if in.Body.Stream {
		return g.turnStream(ctx, r, accepted, in.Body.Wait)
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
	out, err := g.answered(ctx, r.Conversation, r.MessageID)
	if err != nil {
		return nil, err
	}
	return &repliedOutput{Location: out.Location, Body: g.plain(out.Status, out.Body)}, nil
}

func (b TurnRequest) request() (conversation.Request, error) {
	r := conversation.Request{Conversation: b.Conversation, Channel: b.Channel, MessageID: b.MessageID,
		Origin: b.Origin, Text: b.Text, Mode: b.Mode, MaxTurns: b.MaxTurns}
	if b.Speaker != nil {
		r.Speaker = cmp.Or(b.Speaker.Name, b.Speaker.ID)
	}
	if len(b.Messages) == 0 {
		return r, nil
	}
	if b.Mode != contract.Observe {
		return r, fault.New(fault.InvalidArgument, "messages is only allowed in mode observe",
			"send text instead of messages, or set mode to observe")
	}
	raw, err := json.Marshal(b.Messages)
	if err != nil {
		return r, fmt.Errorf("encode the messages: %w", err)
	}
	r.Messages, err = intake.Messages("messages", raw)
	return r, err
}

// answer sends a stored turn to its conversation and waits up to wait for the reply. If
// sending fails, the relay sends the turn later.
func (g *Gateway) answer(ctx context.Context, r conversation.Request, accepted run.Run, wait time.Duration) error {
	if g.Driver == nil {
		return nil
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(wait, startPatience))
	stopped := context.AfterFunc(g.closing, cancel)
	sent := make(chan struct{})
	go func() { // continues if the caller disconnects or does not wait
		defer cancel()
		defer stopped()
		defer close(sent)
		if _, err := g.Driver.Answer(sending, r.WorkspaceKey, accepted); err != nil && sending.Err() == nil {
			g.Log.Warn("turn start deferred to relay", "run", accepted.Ref.Run, "error", err)
		}
	}()
	if wait == 0 {
		return nil
	}
	_, err := g.await(ctx, accepted.Ref, wait, sent, func() (run.Status, error) {
		a, err := g.Inbox.Answer(ctx, r.Workspace, r.Conversation, r.MessageID)
		return run.Status(a.Status), err
	})
	return err
}

func (g *Gateway) showTurn(ctx context.Context, in *struct {
	ConversationPath
	MessageID string `path:"message_id" doc:"The caller's ID of the message"`
}) (*turnOutput, error) {
	out, err := g.answered(ctx, in.ID, in.MessageID)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusOK, ""
	return out, nil
}

// answered reads the turn of a message.
func (g *Gateway) answered(ctx context.Context, conversation, message string) (*turnOutput, error) {
	a, err := g.Inbox.Answer(ctx, workspace(ctx), conversation, message)
	if err != nil {
		return nil, err
	}
	base := g.link("/v1/conversations/%s", url.PathEscape(conversation))
	runs := g.runLinks(a.Run, "")
	out := &turnOutput{Status: http.StatusOK,
		Body: TurnAnswer{TurnStatus: a, Links: TurnLinks{Self: base + "/messages/" + url.PathEscape(message),
			Conversation: base, Run: runs.Self, Events: runs.Events}}}
	out.Location = out.Body.Links.Self
	if a.Status != string(run.Ended) {
		out.Status = http.StatusAccepted
	}
	return out, nil
}
