package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"

	"cairn/internal/domain/llm"
)

// filtered is the refusal text for a content filter, which gives none.
const filtered = "the endpoint's content filter stopped the reply"

// readReply decodes a 2xx response to p. A response that is not a chat completion is Retryable:
// proxies may truncate responses, and the next attempt may be complete.
func (e *Endpoint) readReply(response []byte, p llm.PreparedRequest) (llm.Reply, error) {
	// The SDK's decoder accepts invalid JSON, so it is checked first.
	if !json.Valid(response) {
		return llm.Reply{}, e.broken("not JSON: %.80q", response)
	}
	var completion openai.ChatCompletion
	if err := json.Unmarshal(response, &completion); err != nil {
		return llm.Reply{}, e.broken("%v", err)
	}
	if len(completion.Choices) == 0 {
		return llm.Reply{}, e.errorInside(response, p)
	}
	return replyOf(completion, p)
}

// broken is the error of a 2xx response that is no reply.
func (e *Endpoint) broken(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.Retryable, Status: http.StatusOK, Sent: true,
		Message: "invalid response of the model endpoint: " + e.masked(fmt.Sprintf(format, args...))}
}

// replyOf converts a completion to p that has a choice.
func replyOf(completion openai.ChatCompletion, p llm.PreparedRequest) (llm.Reply, error) {
	choice := completion.Choices[0]
	reply := llm.Reply{
		Text:   choice.Message.Content,
		Calls:  callsOf(choice.Message, p.Body),
		Finish: choice.FinishReason,
		Model:  completion.Model,
		Usage:  usageOf(completion.Usage),
	}
	if reply.Model == "" {
		reply.Model = p.Model
	}
	if u := reply.Usage; u.Input <= 0 || u.Output < 0 || max(u.Input, u.Output) > llm.MaxCallTokens {
		reply.Usage = llm.Usage{Input: llm.EstimateRequest(p.Body), Output: llm.EstimateReply(reply), Estimated: true}
	}
	if len(reply.Calls) > 0 && (reply.Finish == "stop" || reply.Finish == "") {
		reply.Finish = "tool_calls" // some endpoints return stop here
	}
	switch {
	case choice.Message.Refusal != "":
		reply.Refusal = choice.Message.Refusal
	case choice.FinishReason == "content_filter":
		reply.Refusal = filtered
	case len(reply.Calls) == 0 && llm.LooksRefused(reply.Text):
		reply.Refusal = reply.Text
	}
	if failure := checkSize(reply); failure != nil {
		return llm.Reply{}, failure
	}
	return reply, nil
}

// usageOf reads the usage of a completion. The tokens of a cache are also read from the fields of Anthropic
// and DeepSeek, which gateways pass on.
func usageOf(u openai.CompletionUsage) llm.Usage {
	var others struct {
		Read    int `json:"cache_read_input_tokens"`
		Hit     int `json:"prompt_cache_hit_tokens"`
		Created int `json:"cache_creation_input_tokens"`
	}
	_ = json.Unmarshal([]byte(u.RawJSON()), &others) // without them, the numbers are 0
	return llm.Usage{Input: int(u.PromptTokens), Output: int(u.CompletionTokens),
		Cached:  max(int(u.PromptTokensDetails.CachedTokens), others.Read, others.Hit),
		Written: max(int(u.PromptTokensDetails.CacheWriteTokens), others.Created)}.Plausible()
}

// callsOf returns the tool calls of a reply to request. Results refer to their calls by ID. An ID
// that is missing, or that the conversation already contains, is replaced by one that is derived
// from the call's position in the conversation.
func callsOf(message openai.ChatCompletionMessage, request []byte) []llm.ToolCall {
	if len(message.ToolCalls) == 0 {
		return nil // reading a long request is slow
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
		case strings.HasPrefix(raw, "{"): // an object where the protocol requires a string
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

// errorInside returns the error that gateways such as OpenRouter put into a 200 response.
func (e *Endpoint) errorInside(response []byte, p llm.PreparedRequest) *llm.Error {
	detail := readEndpointError(response)
	status, ok := detail.Code.(float64)
	if !ok || status < 400 {
		return e.broken("no choices: %s", detail.Message)
	}
	return &llm.Error{Class: classOf(int(status), detail, p.Body), Status: int(status), Sent: true,
		Message: fmt.Sprintf("the model endpoint returned %d inside a 200: %s", int(status), e.masked(detail.Message))}
}

// callIDs returns the IDs of the tool calls of a request. An unreadable request has none.
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
