package openaiapi

import (
	"encoding/json"
	"strings"

	"cairn/internal/gateway/edge"
	"cairn/internal/service/completion"
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
	return c.serveTurn(r, in.Model, in.Stream, chatForm{usage: in.StreamOptions.IncludeUsage})
}

// chatForm writes replies as chat completions.
type chatForm struct {
	usage bool // a stream ends with the number of tokens
}

func (chatForm) whole(t *turn, r completion.Reply) any { return t.whole(r) }

func (chatForm) background() bool { return false }

func (chatForm) resumes() bool { return false }

func (f chatForm) sink(t *turn, e *edge.Stream) sink {
	return &chatSink{turn: t, events: e, usage: f.usage}
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

// chatSink writes a stream of parts of a chat completion.
type chatSink struct {
	*turn
	events *edge.Stream
	usage  bool
	spoke  bool // the first part, with the role, was written
}

func (c *chatSink) text(part string) error {
	if !c.spoke {
		if err := c.write(chatReply{Role: "assistant", Content: new("")}, nil); err != nil {
			return err
		}
	}
	c.spoke = true
	return c.write(chatReply{Content: &part}, nil)
}

func (c *chatSink) end(r completion.Reply) error {
	last := chatReply{ToolCalls: callsFor(r, true)}
	if !c.spoke {
		last.Role = "assistant"
	}
	if len(last.ToolCalls) > 0 {
		if err := c.write(last, nil); err != nil {
			return err
		}
	}
	finish := finishOf(r)
	if err := c.write(chatReply{}, &finish); err != nil {
		return err
	}
	if c.usage {
		part := c.part("chat.completion.chunk")
		part.Usage = usageOf(r)
		if err := sendData(c.events, part); err != nil {
			return err
		}
	}
	return c.events.Send(edge.Event{Data: []byte("[DONE]")})
}

func (c *chatSink) failed(f *failure) {
	if data, err := json.Marshal(f); err == nil {
		_ = c.events.Send(edge.Event{Name: "error", Data: data}) // nothing follows
	}
}

// write writes one part with a choice.
func (c *chatSink) write(delta chatReply, finish *string) error {
	part := c.part("chat.completion.chunk")
	part.Choices = append(part.Choices, chatChoice{Delta: &delta, Finish: finish})
	return sendData(c.events, part)
}
