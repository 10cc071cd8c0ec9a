// Package lang detects whether text is Chinese. The result selects the language of prompts and of
// replies. The rule is that of MemOS: the share of Han characters among
// the letters that remain after labels, addresses and IDs are removed.
//
//	lang.OfMessages(chunk) // zh or en, from users' and assistants' text, without tool output and code
package lang

import (
	"regexp"
	"strings"
	"unicode"

	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/fence"
)

const (
	Chinese = "zh"
	English = "en" // also for languages without prompts
)

// threshold is the share of Han characters above which text is Chinese.
const threshold = 0.30

// noise is removed before counting, in this order.
var noise = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(user|assistant|query|answer)\s*:`),
	regexp.MustCompile(`(?i)\[\s*\d{1,2}:\d{2}\s*(AM|PM)\s+on\s+\d{1,2}\s+[a-z]+\s*,\s*\d{4}\s*\]`),
	regexp.MustCompile(`\[[\d\-:\s]+\]`),
	regexp.MustCompile("https?://[^\\s<>\"{}|\\\\^`\\[\\]]+"),
	regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	regexp.MustCompile(`(?i)\b\w*id["']?\s*[:=]\s*["']?[\w\-]+["']?`),
	regexp.MustCompile(`(?i)\b(text|type|image_url|imageurl|url|file|file_id|image_id|file_data)\b`),
}

// Detect returns Chinese or English for a text.
func Detect(text string) string {
	for _, pattern := range noise {
		text = pattern.ReplaceAllString(text, " ")
	}
	han, letters := 0, 0
	for _, r := range text {
		if isHan(r) {
			han++
		}
		if isWord(r) {
			letters++
		}
	}
	if letters > 0 && float64(han)/float64(letters) > threshold {
		return Chinese
	}
	return English
}

// OfMessages detects the language of user and assistant messages, without tool output and fenced
// code.
func OfMessages(messages []transcript.Message) string {
	var said strings.Builder
	for _, m := range messages {
		if m.Role == transcript.User || m.Role == transcript.Assistant {
			said.WriteString(fence.Strip(m.Content))
			said.WriteByte('\n')
		}
	}
	return Detect(said.String())
}

// hanRanges are the Unicode blocks of the rule: URO, extensions A to E, compatibility.
var hanRanges = [][2]rune{
	{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
	{0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0xF900, 0xFAFF},
}

func isHan(r rune) bool {
	for _, block := range hanRanges {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}

// isWord matches Python's \w without \d: letters, underscore and numbers that are not decimal
// digits.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) && !unicode.IsDigit(r)
}
