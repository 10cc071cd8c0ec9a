package llm

import "cairn/internal/domain/lang"

// EstimateTokens guesses how many tokens text has, for endpoints that do not count.
func EstimateTokens(text string) int { return lang.EstimateTokens(text) }

// EstimateRequest counts the words of a request, or the whole of a body that
// it cannot read.
func EstimateRequest(body []byte) int {
	request, err := ReadAsked(body)
	if err != nil {
		return EstimateTokens(string(body))
	}
	return EstimateTokens(request.words())
}

// EstimateReply counts the words and calls of a reply.
func EstimateReply(r Reply) int {
	return EstimateTokens(ParsedRequest{Messages: []Message{{Content: r.Text, Calls: r.Calls}}}.words())
}
