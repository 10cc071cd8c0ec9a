package channel

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split divides a Markdown text into parts of at most limit UTF-16 units, which is how platforms count. It divides
// at paragraphs, else at lines, else at words, and never in a link or a grapheme. A fence of code that is divided
// ends with the part and begins again in the next one. Limit must be at least 100.
func Split(text string, limit int) (parts []string) {
	open := "" // line that opens the fence which continues
	for rest := strings.Trim(text, "\n"); rest != ""; {
		prefix := ""
		if open != "" {
			prefix = open + "\n"
		}
		if size(prefix)+size(rest) <= limit {
			return appended(parts, prefix+rest)
		}
		at := cut(rest, limit-size(prefix)-size("\n"+closing(prefix+rest)))
		part := prefix + rest[:at]
		if open = openFence(part); open != "" {
			if size(open) > longestFence {
				open = fenceOf(open)
			}
			part = strings.TrimRight(part, "\n") + "\n" + fenceOf(open)
		}
		parts = appended(parts, strings.Trim(part, "\n"))
		rest = strings.TrimLeft(rest[at:], "\n")
		if open == "" {
			rest = strings.TrimLeft(rest, " ")
		}
	}
	return parts
}

// appended adds a part, unless it shows nothing.
func appended(parts []string, part string) []string {
	if strings.TrimSpace(part) == "" {
		return parts
	}
	return append(parts, part)
}

// longestFence is the longest line of a fence that is repeated with its language.
const longestFence = 24

// size returns the length of a text in UTF-16 units.
func size(text string) (n int) {
	for _, r := range text {
		n += max(1, utf8.RuneLen(r)/4*2)
	}
	return n
}

// link matches what is not divided.
var link = regexp.MustCompile(`!?\[[^\]\n]*\]\([^)\n]*\)|https?://[^\s)]+`)

// cut returns the position of the best place to divide a text whose first part has at most room units.
func cut(text string, room int) int {
	end := within(text, room)
	for _, separator := range []string{"\n\n", "\n", " "} {
		at := strings.LastIndex(text[:end], separator)
		if separator == " " {
			at = outside(text, at)
		}
		if at > 0 && (separator == " " || at >= end/3) && strings.TrimSpace(text[:at]) != "" {
			return at
		}
	}
	if at := outside(text, end); at > 0 {
		return at
	}
	return end // a link that is longer than a message
}

// within returns the end of the longest text of whole graphemes with at most room units. It is at least one
// grapheme.
func within(text string, room int) int {
	end, used, state := 0, 0, -1
	for rest := text; rest != ""; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += size(grapheme); used > room && end > 0 {
			break
		}
		end += len(grapheme)
	}
	return end
}

// outside moves a position in a link to the beginning of the link.
func outside(text string, at int) int {
	for _, span := range link.FindAllStringIndex(text, -1) {
		if span[0] < at && at < span[1] {
			return span[0]
		}
	}
	return at
}

// fence matches a line that opens or closes a block of code.
var fence = regexp.MustCompile("^ {0,3}(`{3,20}|~{3,20})([^`~]*)$")

// openFence returns the line of the fence that a text leaves open, empty without one.
func openFence(text string) (open string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil:
		case open == "":
			open = line
		case strings.HasPrefix(m[1], fenceOf(open)) && strings.TrimSpace(m[2]) == "":
			open = ""
		}
	}
	return open
}

// fenceOf returns the characters of a fence.
func fenceOf(line string) string {
	if m := fence.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// marks matches what a fence can consist of.
var marks = regexp.MustCompile("`{3,20}|~{3,20}")

// closing returns the longest fence that a part of a text can have.
func closing(text string) (longest string) {
	longest = "```"
	for _, f := range marks.FindAllString(text, -1) {
		if len(f) > len(longest) {
			longest = f
		}
	}
	return longest
}
