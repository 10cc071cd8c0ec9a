package openai

import (
	"cairn/internal/domain/llm"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
)

// filtered stands for the refusal text that a content filter does not give.
const filtered = "the endpoint's content filter stopped the reply"

// readReply decodes a 2xx answer to p. An answer that is no chat completion is
// Retryable: proxies cut answers, and the next attempt may be whole.
func (e *Endpoint) readReply(answer []byte, p llm.PreparedRequest) (llm.Reply, error) {
	broken := func(format string, args ...any) *llm.Error {
		return &llm.Error{Class: llm.Retryable, Status: http.StatusOK, Sent: true,
			Message: "the model endpoint's answer is broken: " + e.masked(fmt.Sprintf(format, args...))}
	}
	// The SDK's decoder forgives broken JSON, so this comes first.
	if !json.Valid(answer) {
		return llm.Reply{}, broken("not JSON: %.80q", answer)
	}
	var completion openai.ChatCompletion
	if err := json.Unmarshal(answer, &completion); err != nil {
		return llm.Reply{}, broken("%v", err)
	}
	if len(completion.Choices) == 0 {
		return llm.Reply{}, e.errorInside(answer, p, broken)
	}
	choice := completion.Choices[0]
	reply := llm.Reply{
		Text:   choice.Message.Content,
		Calls:  callsOf(choice.Message, p.Body),
		Finish: choice.FinishReason,
		Model:  completion.Model,
		Usage:  llm.Usage{Input: int(completion.Usage.PromptTokens), Output: int(completion.Usage.CompletionTokens)},
	}
	if reply.Model == "" {
		reply.Model = p.Model
	}
	if reply.Usage.Input <= 0 {
		reply.Usage = llm.Usage{Input: llm.EstimateRequest(p.Body), Output: llm.EstimateReply(reply), Estimated: true}
	}
	if len(reply.Calls) > 0 && (reply.Finish == "stop" || reply.Finish == "") {
		reply.Finish = "tool_calls" // some endpoints say stop all the same
	}
	switch {
	case choice.Message.Refusal != "":
		reply.Refusal = choice.Message.Refusal
	case choice.FinishReason == "content_filter":
		reply.Refusal = filtered
	case len(reply.Calls) == 0 && llm.LooksRefused(reply.Text):
		reply.Refusal = reply.Text
	}
	return reply, nil
}

// callsOf reads the tool calls of a reply to request. Results find their calls
// by id, so a missing id, and one that this conversation has had before, is
// replaced by one made from the call's position in the conversation.
func callsOf(message openai.ChatCompletionMessage, request []byte) []llm.ToolCall {
	if len(message.ToolCalls) == 0 {
		return nil // most requests are long, and reading one takes a while
	}
	earlier := callIDs(request)
	used := map[string]bool{"": true}
	for _, id := range earlier {
		used[id] = true
	}
	var calls []llm.ToolCall
	for i, made := range message.ToolCalls {
		call := llm.ToolCall{ID: made.ID, Name: made.Function.Name, Arguments: made.Function.Arguments}
		switch raw := made.Function.JSON.Arguments.Raw(); {
		case made.Type == "custom":
			call.Name, call.Arguments = made.Custom.Name, made.Custom.Input
		case strings.HasPrefix(raw, "{"): // an object where the protocol has a text
			call.Arguments = raw
		}
		for n := len(earlier) + i; used[call.ID]; n++ {
			call.ID = fmt.Sprintf("call_%d", n)
		}
		used[call.ID] = true
		calls = append(calls, call)
	}
	return calls
}

// errorInside reads the error that gateways such as OpenRouter put into a 200.
func (e *Endpoint) errorInside(
	answer []byte,
	p llm.PreparedRequest,
	broken func(string, ...any) *llm.Error,
) *llm.Error {
	said := readEndpointError(answer)
	status, ok := said.Code.(float64)
	if !ok || status < 400 {
		return broken("no choices: %s", said.Message)
	}
	return &llm.Error{Class: classOf(int(status), said, p.Body), Status: int(status), Sent: true,
		Message: fmt.Sprintf("the model endpoint answered %d inside a 200: %s", int(status), e.masked(said.Message))}
}

// callIDs are the ids of the tool calls of a request; what cannot be read has none.
func callIDs(request []byte) (ids []string) {
	var in struct {
		Messages []struct {
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
	}
	_ = json.Unmarshal(request, &in)
	for _, message := range in.Messages {
		for _, call := range message.ToolCalls {
			ids = append(ids, call.ID)
		}
	}
	return ids
}
