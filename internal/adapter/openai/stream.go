package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"cairn/internal/domain/llm"
)

// errSilent is the cause of a stream that sends no data.
var errSilent = errors.New("the stream is silent")

// stream posts the body of a request and assembles the reply from the parts of the response. A stream that ends
// without a finish reason is Retryable: its end is missing.
func (e *Endpoint) stream(ctx context.Context, p llm.PreparedRequest, body []byte, emit func(string)) (llm.Reply,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, err := e.Open(ctx, body, labelHeaders(p.Label))
	if err != nil {
		return llm.Reply{}, err
	}
	defer response.Body.Close()
	if !isStream(response) {
		return e.unstreamed(ctx, response, p, emit)
	}
	silence := cmp.Or(e.config.Silence, DefaultSilence)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	parts := assembly{endpoint: e, request: p, emit: emit}
	events := ssestream.NewDecoder(response)
	for events.Next() {
		watch.Reset(silence)
		data := bytes.TrimSpace(events.Event().Data)
		if string(data) == "[DONE]" {
			break
		}
		if failure := parts.add(data); failure != nil {
			return llm.Reply{}, failure
		}
	}
	switch err := events.Err(); {
	case errors.Is(context.Cause(ctx), errSilent):
		return llm.Reply{}, &llm.Error{Class: llm.Retryable, Sent: true, Cause: errSilent,
			Message: fmt.Sprintf("the model endpoint sent nothing for %s in the middle of a reply", silence)}
	case err != nil:
		return llm.Reply{}, e.unanswered(ctx, err, true)
	}
	return parts.reply()
}

// unstreamed reads the reply of an endpoint that does not stream.
func (e *Endpoint) unstreamed(ctx context.Context, response *http.Response, p llm.PreparedRequest,
	emit func(string)) (llm.Reply, error) {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return llm.Reply{}, e.unanswered(ctx, err, true)
	}
	reply, err := e.readReply(body, p)
	if err == nil && reply.Text != "" {
		emit(reply.Text)
	}
	return reply, err
}

func isStream(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// assembly is a reply of which parts have arrived.
type assembly struct {
	endpoint *Endpoint
	request  llm.PreparedRequest
	emit     func(string)
	whole    openai.ChatCompletionAccumulator
	size     int // of the text, the refusal and the arguments of calls, in bytes
}

// add adds the data of one event.
func (a *assembly) add(data []byte) *llm.Error {
	if !json.Valid(data) { // the SDK's decoder accepts it
		return a.endpoint.broken("not JSON: %.80q", data)
	}
	var part openai.ChatCompletionChunk
	if err := json.Unmarshal(data, &part); err != nil {
		return a.endpoint.broken("%v", err)
	}
	if len(part.Choices) == 0 {
		var failed struct{ Error *json.RawMessage } // some endpoints send null in each part
		if json.Unmarshal(data, &failed) == nil && failed.Error != nil {
			return a.endpoint.errorInside(data, a.request)
		}
	}
	part.ID = cmp.Or(a.whole.ID, part.ID) // some endpoints send it once, or change it
	if !a.whole.AddChunk(part) {
		return a.endpoint.broken("a part does not continue the reply: %.80q", data)
	}
	for _, choice := range part.Choices {
		if choice.Index != 0 {
			continue
		}
		a.size += len(choice.Delta.Content) + len(choice.Delta.Refusal)
		for _, call := range choice.Delta.ToolCalls {
			a.size += len(call.Function.Arguments)
		}
		if a.size > answerBytes {
			return answerTooLarge()
		}
		if choice.Delta.Content != "" {
			a.emit(choice.Delta.Content)
		}
	}
	return nil
}

// reply returns the whole reply.
func (a *assembly) reply() (llm.Reply, error) {
	if len(a.whole.Choices) == 0 || a.whole.Choices[0].FinishReason == "" {
		return llm.Reply{}, a.endpoint.broken("the stream ended before the reply did")
	}
	return replyOf(a.whole.ChatCompletion, a.request)
}
