package llm

import "cairn/internal/domain/lang"

// EstimateTokens guesses how many tokens text has, for endpoints that do not count.
func EstimateTokens(text string) int { return lang.EstimateTokens(text) }

// estimateRequest counts the words of a request, or the whole of a body that
// it cannot read.
func estimateRequest(body []byte) int {
	request, err := ReadAsked(body)
	if err != nil {
		return EstimateTokens(string(body))
	}
	return EstimateTokens(request.words())
}

func estimateReply(r Reply) int {
	return EstimateTokens(Asked{Messages: []Message{{Content: r.Text, Calls: r.Calls}}}.words())
}
