package llm

import "cairn/internal/domain/lang"

// EstimateTokens estimates the tokens of text, for endpoints that do not report usage.
func EstimateTokens(text string) int { return lang.EstimateTokens(text) }

// EstimateRequest estimates the tokens of a request. For a body that it cannot parse, it uses the
// whole body.
func EstimateRequest(body []byte) int {
	request, err := ReadAsked(body)
	if err != nil {
		return EstimateTokens(string(body))
	}
	return EstimateTokens(request.words()) + EstimateFiles(Request{Messages: request.Messages})
}

// EstimateReply estimates the tokens of a reply's text and calls.
func EstimateReply(r Reply) int {
	return EstimateTokens(ParsedRequest{Messages: []Message{{Content: r.Text, Calls: r.Calls}}}.words())
}
