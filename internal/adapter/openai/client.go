// Package openai is the client of OpenAI-compatible chat endpoints. It renders requests, sends them
// once, classifies failures and decodes replies.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/txscope"
)

// Client is a Model behind an OpenAI-compatible endpoint.
//
//	model := openai.New(openai.Config{BaseURL: "http://localhost:11434/v1"})
//	request := llm.Request{Model: "qwen3", System: "Answer in one word.", Messages: llm.User("Is it raining?")}
//	prepared, err := model.Prepare(request)
//	… store prepared …
//	reply, err := model.Send(ctx, prepared)
type Client struct {
	config   Config
	endpoint *Endpoint
}

var _ llm.Streamer = (*Client)(nil)

// New returns a Client. c.Validate and every Prepare report an invalid c.
func New(c Config) *Client {
	return &Client{config: c, endpoint: ChatEndpoint(c)}
}

// Offline reports whether the endpoint is the offline model, so that commands can show it.
func (c *Client) Offline() bool { return c.config.Offline }

// Prepare renders r. The bytes of Prepared survive a round trip through encoding/json unchanged.
// They do not survive a jsonb column, which reorders keys.
func (c *Client) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	if err := c.config.Validate(); err != nil {
		return llm.PreparedRequest{}, err
	}
	rendered, err := c.render(r)
	if err != nil {
		return llm.PreparedRequest{}, err
	}
	body, err := json.Marshal(rendered)
	if err != nil {
		return llm.PreparedRequest{}, fault.Wrap(err, fault.InvalidArgument,
			"render the request to model "+quote(r.Model), "")
	}
	return llm.PreparedRequest{Model: r.Model, Body: body, Label: r.Label, Constant: r.Constant}, nil
}

// Send posts p.Body, with the content of the files that it names. A refusal of the model is a reply, not an error.
func (c *Client) Send(ctx context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	return c.Stream(ctx, p, func(string) {})
}

// Stream is Send for a caller that wants the parts of a streamed reply.
func (c *Client) Stream(ctx context.Context, p llm.PreparedRequest, emit func(text string)) (reply llm.Reply,
	err error) {
	if err := txscope.Reject(ctx); err != nil {
		return llm.Reply{}, err
	}
	body, err := withFiles(ctx, p)
	if err != nil {
		return llm.Reply{}, err
	}
	if bytes.HasSuffix(p.Body, streamed) {
		reply, err = c.endpoint.stream(ctx, p, body, emit)
	} else {
		var response []byte
		if response, err = c.endpoint.Post(ctx, body, labelHeaders(p.Label)); err == nil {
			reply, err = c.endpoint.readReply(response, p)
		}
	}
	if err != nil {
		return llm.Reply{}, err
	}
	if c.config.Offline {
		reply.Usage.Estimated = true
	}
	return reply, nil
}

// streamed is the end of the body of a request for a stream. The text of a message cannot end so: its
// quotes are escaped.
var streamed = []byte(`"stream":true}`)

// labelHeaders encodes labels that are not plain ASCII as RFC 2047 words.
func labelHeaders(l llm.Label) map[string]string {
	headers := map[string]string{}
	for name, value := range map[string]string{
		"X-Skill-Stage": l.Stage, "X-Skill-Run": l.Run, "X-Skill-Task": l.Task, "X-Skill-File": l.File,
	} {
		if value != "" {
			headers[name] = mime.QEncoding.Encode("utf-8", value)
		}
	}
	return headers
}
