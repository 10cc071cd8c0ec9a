package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Delta is a part of a reply that the model is writing.
type Delta struct {
	Step  int    `json:"step"` // number of the model response in the turn; text before a tool call is not the reply
	Text  string `json:"text"`
	Reset bool   `json:"-"` // Text replaces all text of the step: the model was asked again
}

// ChatStream is [Client.Chat] that also passes the reply to see while the model writes it. Only the
// result has the final reply. If the connection breaks, ChatStream continues after the last part. With
// Config.Handler, all parts arrive at the end. It ignores [Wait].
func (c *Client) ChatStream(ctx context.Context, conversation, text string, see func(Delta),
	options ...Option) (TurnAnswer, error) {
	r := TurnRequest{Conversation: conversation, MessageID: cmp.Or(c.usual.with(options).id, rand.Text()), Text: text}
	body, err := json.Marshal(struct {
		TurnRequest
		Stream bool `json:"stream"`
	}{r, true})
	if err != nil {
		return TurnAnswer{}, &Error{Code: ErrInvalidArgument.Code, Message: "cannot encode the request", cause: err}
	}
	again := "/v1/conversations/" + url.PathEscape(
		conversation,
	) + "/messages/" + url.PathEscape(
		r.MessageID,
	) + "/stream"
	last := "" // ID of the last event
	for attempt := 0; ; attempt++ {
		if c.closed.Load() {
			return TurnAnswer{}, ErrClosed
		}
		method, path, raw := http.MethodPost, "/v1/turns", body
		if last != "" {
			method, path, raw = http.MethodGet, again, nil
		}
		out, seen, err := c.streamOnce(ctx, method, path, raw, last, see)
		if seen != last {
			last, attempt = seen, 0
		}
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Retryable || attempt >= c.retries {
			return out, err
		}
		pause := time.NewTimer(100 * time.Millisecond << min(attempt, 5))
		select {
		case <-ctx.Done():
			pause.Stop()
			return out, errors.Join(err, ctx.Err())
		case <-pause.C:
		}
	}
}

// streamOnce reads events until the end of the turn or of the connection. seen is the ID of the last part.
func (c *Client) streamOnce(ctx context.Context, method, path string, body []byte, last string, see func(Delta)) (
	out TurnAnswer, seen string, err error) {
	seen = last
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return out, seen, &Error{Code: ErrInvalidArgument.Code, Message: method + " " + path, cause: err}
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	broken := func(err error) error {
		return &Error{Code: ErrUnavailable.Code, Message: "the stream of the reply broke",
			Hint: "check that `cairn serve` is running at " + c.url, Retryable: ctx.Err() == nil, cause: err}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, seen, broken(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // without a body, problem reports the status
		return out, seen, problem(res, answer)
	}
	events := bufio.NewReader(res.Body)
	for {
		id, name, data, err := nextEvent(events)
		if err != nil {
			return out, seen, broken(err)
		}
		switch name {
		case "delta", "reset":
			d := Delta{Reset: name == "reset"}
			if err := json.Unmarshal(data, &d); err != nil {
				return out, seen, broken(err)
			}
			seen = id
			see(d)
		case "end":
			if err := json.Unmarshal(data, &out); err != nil {
				return out, seen, &Error{Code: "internal", Message: "invalid response", cause: err}
			}
			return out, seen, nil
		case "error":
			return out, seen, problem(res, data)
		case "stopping":
			return out, seen, broken(errors.New("the gateway ended the stream"))
		}
	}
}

// nextEvent reads one server-sent event.
func nextEvent(r *bufio.Reader) (id, name string, data []byte, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && name != "":
			return id, name, data, nil
		case field == "id":
			id = value
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value...)
		}
	}
}
