package openaiapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
)

// Times of a request.
const (
	replyPatience = 10 * time.Minute // for the reply; clients give up at that time
	comeBack      = 5 * time.Second  // after a disconnection, for the client to send the request again
)

// chat answers POST /v1/chat/completions.
func (c *call) chat() error {
	var in chatRequest
	members, err := c.body(&in)
	if err != nil {
		return err
	}
	r, err := c.request(in, members)
	if err != nil {
		return err
	}
	var ended func()
	if in.Stream { // before work starts
		if ended, err = c.door.OpenStream(c.from); err != nil {
			return err
		}
		defer ended()
	}
	t, err := c.accept(r, in)
	if err != nil {
		return err
	}
	if in.Stream {
		return t.stream(in.StreamOptions.IncludeUsage)
	}
	return t.plain()
}

// turn is the turn of a request.
type turn struct {
	*call
	completion.Accepted
	model   string // as the request names it
	watcher string // identifies this request among those that wait for the reply
	created time.Time
}

// accept stores the request and starts its turn.
func (c *call) accept(r completion.Request, in chatRequest) (*turn, error) {
	ctx := c.r.Context()
	accepted, err := c.Completions.Accept(ctx, r)
	if err != nil {
		return nil, err
	}
	t := &turn{call: c, Accepted: accepted, model: in.Model, created: accepted.Turn.AcceptedAt}
	if t.created.IsZero() { // accepted now
		t.created = time.Now()
	}
	h := c.w.Header()
	h.Set("X-Cairn-Conversation", accepted.Request.Conversation)
	h.Set("X-Cairn-Run", accepted.Ref().Run)
	if accepted.Turn.Ended {
		return t, nil
	}
	if t.watcher, err = c.Completions.Watch(ctx, accepted.Ref()); err != nil {
		return nil, err
	}
	return t, c.door.Start(ctx, accepted.Request, accepted.Run)
}

// status returns the status of the turn.
func (t *turn) status() (conversation.TurnStatus, error) {
	return t.Completions.Status(t.r.Context(), t.Accepted)
}

// plain waits for the reply and writes it.
func (t *turn) plain() error {
	var now conversation.TurnStatus
	_, err := t.door.Await(t.r.Context(), t.Ref(), replyPatience, func() (s run.Status, err error) {
		now, err = t.status()
		return run.Status(now.Status), err
	})
	switch {
	case t.r.Context().Err() != nil:
		t.abandon()
		return t.r.Context().Err()
	case err != nil:
		return err
	case now.Status != conversation.StatusEnded:
		return fault.New(fault.Unavailable, "no reply yet", "send the same request again; it continues to wait")
	}
	reply, err := t.reply(now)
	if err != nil {
		return err
	}
	answerJSON(t.w, http.StatusOK, t.whole(reply))
	return nil
}

// reply returns what the client gets of the ended turn. A turn without a reply of a model is an error.
func (t *turn) reply(now conversation.TurnStatus) (completion.Reply, error) {
	out, err := t.Completions.Reply(t.r.Context(), t.Ref(), now.Reply)
	if err == nil {
		err = t.ended(agent.Reason(now.Reason), out.Detail)
	}
	return out, err
}

// abandon cancels the turn if the client does not send the request again.
func (t *turn) abandon() {
	if t.watcher == "" {
		return
	}
	ctx := context.WithoutCancel(t.r.Context())
	go func() {
		select {
		case <-t.door.Closing(): // the client goes to another gateway
			return
		case <-time.After(comeBack):
		}
		chosen, err := t.Workspaces.Settings(ctx, t.from.Workspace.ID)
		if err == nil && chosen.API.CancelOnDisconnect {
			var alone bool
			if alone, err = t.Completions.Watches(ctx, t.Ref(), t.watcher); err == nil && alone {
				_, err = t.Turns.Cancel(
					ctx,
					t.from.Workspace,
					t.Accepted.Request.Conversation,
					t.Accepted.Request.MessageID,
				)
			}
		}
		if err != nil {
			t.failureOf("cancel an abandoned turn", err) // logs it
		}
	}()
}

// chatCompletion is the body of a response, or a part of it in a stream.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // Unix time in seconds
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index    int        `json:"index"`
	Message  *chatReply `json:"message,omitempty"`
	Delta    *chatReply `json:"delta,omitempty"`
	Finish   *string    `json:"finish_reason"`
	LogProbs any        `json:"logprobs"` // always null
}

type chatReply struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Refusal   any        `json:"refusal,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// part returns a response without choices.
func (t *turn) part(object string) chatCompletion {
	return chatCompletion{ID: "chatcmpl-" + strings.TrimPrefix(t.Ref().Run, "run_"), Object: object,
		Created: t.created.Unix(), Model: t.model, Choices: []chatChoice{}}
}

// whole returns the response with the whole reply.
func (t *turn) whole(r completion.Reply) chatCompletion {
	out := t.part("chat.completion")
	message := &chatReply{Role: "assistant", Content: &r.Text, ToolCalls: callsFor(r, false)}
	finish := finishOf(r)
	out.Choices = append(out.Choices, chatChoice{Message: message, Finish: &finish})
	out.Usage = usageOf(r)
	return out
}

// callsFor returns the calls that the client has to run.
func callsFor(r completion.Reply, streamed bool) (out []chatCall) {
	for i, made := range r.Calls {
		one := chatCall{ID: made.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = made.Name, made.Arguments
		if streamed {
			one.Index = &i
		}
		out = append(out, one)
	}
	return out
}

// finishOf returns why the reply ends, in OpenAI's terms.
func finishOf(r completion.Reply) string {
	switch {
	case len(r.Calls) > 0:
		return "tool_calls"
	case r.Finish == "length" || r.Finish == "content_filter":
		return r.Finish
	}
	return "stop"
}

func usageOf(r completion.Reply) *chatUsage {
	return &chatUsage{Prompt: r.Input, Completion: r.Output, Total: r.Input + r.Output}
}
