package llm

import "unicode"

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
