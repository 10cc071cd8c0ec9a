package fault

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the maximum length of a text that Clean returns, in bytes and without the mark of its end.
const maxText = 3000

// decoderError matches errors of encoding/json, which name types of Go.
var decoderError = regexp.MustCompile(`(?s)json: cannot unmarshal (.*?) into Go ` +
	`(?:value|struct field [^.\s]*\.?(\S*)) of type (?:struct \{.*\}|[\w.*\[\]]+(?: ?\{\})?)`)

// Clean returns a text about a request for its caller. The text may repeat parts of the request, so Clean escapes
// control characters and marks of text direction, which could deceive the reader of a terminal, and shortens it.
// Errors of the JSON decoder lose the types of Go.
func Clean(text string) string {
	text = decoderError.ReplaceAllStringFunc(text, func(found string) string {
		parts := decoderError.FindStringSubmatch(found)
		if parts[2] != "" {
			return fmt.Sprintf("%s: unexpected %s", parts[2], parts[1])
		}
		return "unexpected " + parts[1]
	})
	if len(text) > maxText {
		end := maxText
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	if !strings.ContainsFunc(text, isHidden) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var out strings.Builder
	for _, r := range text { // invalid bytes become U+FFFD
		if isHidden(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isHidden reports whether a terminal does not show r but acts on it.
func isHidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
