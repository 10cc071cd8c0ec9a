package guard

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanDisguised finds orders that are written in another form: with digits for letters, with blanks
// between letters, backwards, in ROT13 or in Base64. f is the folded text.
func scanDisguised(raw string, f folded, scope Scope) []Finding {
	var findings []Finding
	if plain, changed := lettersForDigits(f.text); changed {
		findings = append(findings, scanOrders(folded{plain, f.starts}, scope, false)...)
	}
	if strings.Contains(f.text, "vtaber") || strings.Contains(f.text, "vafgehpgvba") {
		findings = append(findings, scanOrders(folded{strings.Map(rot13, f.text), f.starts}, scope, false)...)
	}
	if strings.Contains(f.text, "erongi") || strings.Contains(f.text, "noitcurtsni") {
		findings = append(findings, scanReversed(f, scope)...)
	}
	findings = append(findings, scanSpaced(raw, scope)...)
	return append(findings, scanEncoded(raw, scope)...)
}

// digitLetters maps digits and marks to the letters that they resemble.
var digitLetters = map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's'}

// mixedWord matches a word with digits between its letters.
var mixedWord = regexp.MustCompile(`[a-z013457@$]*(?:[a-z][013457@$]+[a-z]|[013457@$][a-z]{2})[a-z013457@$]*`)

// lettersForDigits replaces the digits in words. The text keeps its length.
func lettersForDigits(text string) (plain string, changed bool) {
	if !strings.ContainsAny(text, "013457$") {
		return text, false
	}
	plain = mixedWord.ReplaceAllStringFunc(text, func(word string) string {
		changed = true
		return strings.Map(func(r rune) rune {
			if letter, known := digitLetters[r]; known {
				return letter
			}
			return r
		}, word)
	})
	return plain, changed
}

func rot13(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

// scanReversed scans each line backwards.
func scanReversed(f folded, scope Scope) []Finding {
	lines := strings.Split(f.text, "\n")
	for i, line := range lines {
		lines[i] = reversed(line)
	}
	return scanOrders(folded{strings.Join(lines, "\n"), f.starts}, scope, false)
}

func reversed(text string) string {
	back := make([]byte, 0, len(text))
	for len(text) > 0 {
		_, size := utf8.DecodeLastRuneInString(text)
		back = append(back, text[len(text)-size:]...)
		text = text[:len(text)-size]
	}
	return string(back)
}

// minSpaced is the number of single letters in a row that are read as words.
const minSpaced = 8

// scanSpaced joins letters that stand alone: "i g n o r e". Words without boundaries are accepted
// there, because blanks mean nothing.
func scanSpaced(raw string, scope Scope) []Finding {
	var findings []Finding
	line := 0
	for text := range strings.Lines(raw) {
		line++
		if joined := joinedLetters(text); joined != "" {
			for _, n := range scanOrders(fold(joined), scope, true) {
				n.Line = line
				findings = append(findings, n)
			}
		}
	}
	return findings
}

// joinedLetters returns the letters of a line that stand alone, "" if they are few.
func joinedLetters(line string) string {
	var joined strings.Builder
	letters, alone, before := 0, 0, rune(' ')
	for i, r := range line {
		next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			before = r
			continue
		}
		letters++
		if !unicode.IsLetter(before) && !unicode.IsDigit(before) && !unicode.IsLetter(next) {
			alone++
		}
		joined.WriteRune(r)
		before = r
	}
	if alone < minSpaced || 3*alone < 2*letters {
		return ""
	}
	return joined.String()
}

// encoded matches Base64 of at least 18 bytes.
var encoded = pattern{toSpace: true, expression: regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)}

// maxEncoded is the number of encoded parts that are decoded.
const maxEncoded = 50

// scanEncoded scans the text in Base64. It decodes once.
func scanEncoded(raw string, scope Scope) []Finding {
	var findings []Finding
	for _, m := range encoded.expression.FindAllStringIndex(raw, maxEncoded) {
		part := strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(raw[m[0]:m[1]])
		plain, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil || !readable(plain) {
			continue
		}
		line := 1 + strings.Count(raw[:m[0]], "\n")
		f := fold(string(plain))
		for _, n := range append(scanRules(f, textRules(), scope), scanOrders(f, scope, false)...) {
			n.Line = line
			findings = append(findings, n)
		}
	}
	return findings
}

// readable reports whether decoded bytes are text.
func readable(data []byte) bool {
	return utf8.Valid(data) && !strings.ContainsFunc(string(data), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
	})
}
