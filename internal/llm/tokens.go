package llm

import (
	"encoding/json"
	"unicode"
)

// runesPerToken is the usual ratio of alphabetic text; a CJK character is
// about one token.
const runesPerToken = 4

// EstimateTokens guesses how many tokens text has, for endpoints that do not count.
func EstimateTokens(text string) int {
	cjk, other := 0, 0
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			cjk++
		} else {
			other++
		}
	}
	return cjk + (other+runesPerToken-1)/runesPerToken
}

// wireRequest is the part of a request's body that is read again.
type wireRequest struct {
	Messages []struct {
		Content   string `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools json.RawMessage `json:"tools"`
}

// estimateRequest counts the words of a request, or the whole of a body that
// it cannot read.
func estimateRequest(body []byte) int {
	var request wireRequest
	if json.Unmarshal(body, &request) != nil {
		return EstimateTokens(string(body))
	}
	tokens := EstimateTokens(string(request.Tools)) + estimateCalls(sentCalls(body))
	for _, message := range request.Messages {
		tokens += EstimateTokens(message.Content)
	}
	return tokens
}

func estimateReply(r Reply) int { return EstimateTokens(r.Text) + estimateCalls(r.Calls) }

func estimateCalls(calls []ToolCall) int {
	tokens := 0
	for _, call := range calls {
		tokens += EstimateTokens(call.Name + call.Arguments)
	}
	return tokens
}

// sentCalls are the tool calls of the conversation in a request's body.
func sentCalls(body []byte) []ToolCall {
	var request wireRequest
	_ = json.Unmarshal(body, &request) // what cannot be read has no calls
	var calls []ToolCall
	for _, message := range request.Messages {
		for _, call := range message.ToolCalls {
			calls = append(calls, ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	}
	return calls
}
