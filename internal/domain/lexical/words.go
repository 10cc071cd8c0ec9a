package lexical

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// longestWord is the longest term, in bytes. Longer runs are encoded data, not words.
const longestWord = 64

// joiners join the parts of an identifier if a single one is between two parts.
const joiners = "_-./:@'"

// Words returns the terms of text in reading order, with repetitions. An identifier precedes its
// parts.
func Words(text string) []string {
	var words []string
	text = strings.ReplaceAll(norm.NFKC.String(text), "’", "'")
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case IsCJK(r):
			end := runEnd(text, IsCJK)
			words = append(words, pairs(text[:end])...)
			text = text[end:]
		case inWord(r):
			end := tokenEnd(text)
			words = append(words, identifier(text[:end])...)
			text = text[end:]
		default:
			text = text[size:]
		}
	}
	return words
}

// IsCJK reports whether r belongs to a script that is indexed by pairs of characters.
func IsCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// Fold normalizes text for comparison: NFKC, then case folding.
func Fold(text string) string {
	return cases.Fold().String(norm.NFKC.String(text))
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !IsCJK(r)
}

func runEnd(text string, in func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !in(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// tokenEnd returns the end of a token of words with single joiners.
func tokenEnd(text string) int {
	end := runEnd(text, inWord)
	for end+1 < len(text) && strings.IndexByte(joiners, text[end]) >= 0 {
		next, _ := utf8.DecodeRuneInString(text[end+1:])
		if !inWord(next) {
			break
		}
		end += 1 + runEnd(text[end+1:], inWord)
	}
	return end
}

// identifier returns the terms of a token: one for a plain word. A token with joiners, inner
// capitals, or letters next to digits gives the whole and its parts.
func identifier(token string) []string {
	token = strings.TrimSuffix(token, "'s") // the possessive
	token = strings.TrimSuffix(token, "'S")
	whole := fold(token)
	if IsStopword(whole) {
		return nil
	}
	parts := split(token)
	words := keep(nil, stem(whole))
	if len(parts) == 1 {
		return words
	}
	for _, part := range parts {
		if part = fold(part); !IsStopword(part) {
			words = keep(words, stem(part))
		}
	}
	return words
}

func keep(words []string, word string) []string {
	if word == "" || len(word) > longestWord {
		return words
	}
	return append(words, word)
}

// fold skips the folding tables for lower-case ASCII.
func fold(word string) string {
	for i := range len(word) {
		if c := word[i]; c >= utf8.RuneSelf || (c >= 'A' && c <= 'Z') {
			return cases.Fold().String(word)
		}
	}
	return word
}

// split divides a token at its joiners, between a lower-case and an upper-case letter, and between
// letters and digits.
func split(token string) []string {
	var parts []string
	for _, piece := range strings.FieldsFunc(token, func(r rune) bool { return strings.ContainsRune(joiners, r) }) {
		start, last := 0, rune(0)
		for i, r := range piece {
			if last != 0 && (unicode.IsLower(last) && unicode.IsUpper(r) ||
				unicode.IsDigit(last) != unicode.IsDigit(r) && !unicode.IsMark(r)) {
				parts = append(parts, piece[start:i])
				start = i
			}
			last = r
		}
		parts = append(parts, piece[start:])
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// pairs returns the overlapping pairs of a run, or its only character.
func pairs(run string) []string {
	runes := []rune(run)
	if len(runes) == 1 {
		if IsStopword(run) {
			return nil
		}
		return []string{run}
	}
	var words []string
	for i := range len(runes) - 1 {
		pair := string(runes[i : i+2])
		if !IsStopword(pair) && !(isParticle(runes[i]) && isParticle(runes[i+1])) {
			words = append(words, pair)
		}
	}
	return words
}
