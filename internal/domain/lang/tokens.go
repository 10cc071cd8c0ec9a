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

// Sizes of pieces of text that MaxTokens counts as one token. Tokenizers of current models make longer pieces
// of prose and shorter ones of nothing but random text.
const (
	lettersPerToken = 6
	digitsPerToken  = 3
	othersPerToken  = 2
	spacesPerToken  = 8
)

// MaxTokens estimates the number of tokens of text for limits that must not be exceeded. Code, JSON and
// numbers have more tokens than EstimateTokens returns.
func MaxTokens(text string) int {
	total, run := 0, 0
	before := ' '
	for _, r := range text {
		kind := kindOf(r)
		if kind != before {
			total += piece(before, run)
			run = 0
		}
		run++
		before = kind
	}
	return max(total+piece(before, run), EstimateTokens(text))
}

// kindOf returns a for letters, c for CJK characters, d for digits, a space for spaces and o for others.
func kindOf(r rune) rune {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 'c'
	case r < unicode.MaxASCII && unicode.IsLetter(r):
		return 'a'
	case unicode.IsDigit(r):
		return 'd'
	case unicode.IsSpace(r):
		return ' '
	}
	return 'o'
}

// piece returns the tokens of n characters of a kind. A single space belongs to the word after it.
func piece(kind rune, n int) int {
	size := 1
	switch kind {
	case 'a':
		size = lettersPerToken
	case 'd':
		size = digitsPerToken
	case 'o':
		size = othersPerToken
	case ' ':
		if size = spacesPerToken; n <= 1 {
			return 0
		}
	}
	return (n + size - 1) / size
}
