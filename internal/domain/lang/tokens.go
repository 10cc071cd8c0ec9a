package lang

import "unicode"

// runesPerToken is the usual ratio of alphabetic text. A CJK character is about one token.
const runesPerToken = 4

// EstimateTokens estimates the number of tokens of text.
func EstimateTokens(text string) int {
	cjk, other := 0, 0
	for _, r := range text {
		if r < unicode.MaxLatin1 {
			other++
		} else if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			cjk++
		} else {
			other++
		}
	}
	return cjk + (other+runesPerToken-1)/runesPerToken
}
