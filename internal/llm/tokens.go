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

// estimateRequest counts the words of a request, or the whole of a body that
// it cannot read.
func estimateRequest(body []byte) int {
	var request struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &request) != nil {
		return EstimateTokens(string(body))
	}
	tokens := 0
	for _, message := range request.Messages {
		tokens += EstimateTokens(message.Content)
	}
	return tokens
}
