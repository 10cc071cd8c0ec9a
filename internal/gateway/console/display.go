package console

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// showPercent formats a share of 1.
func showPercent(f any) string {
	switch v := f.(type) {
	case float32:
		return fmt.Sprintf("%.0f %%", float64(v)*100)
	case float64:
		return fmt.Sprintf("%.0f %%", v*100)
	}
	return fmt.Sprint(f)
}

// textPiece is a part of a text: characters as they are, or an invisible one by its name.
type textPiece struct{ Text, Mark string }

// maxShown is the size of a text that a page shows, in bytes. Longer ones would make browsers slow.
const maxShown = 64 << 10

// shortened returns the beginning of a long text, and the number of bytes that are left out.
func shortened(text string) (string, int) {
	if len(text) <= maxShown {
		return text, 0
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

// markInvisible divides a text at its invisible and bidirectional characters, which could show something else than is
// there.
// Of a long text, it returns the beginning and how much is missing.
func markInvisible(text any) (out []textPiece) {
	s, cut := shortened(fmt.Sprint(text))
	from := 0
	defer func() {
		if cut > 0 {
			out = append(out, textPiece{Mark: fmt.Sprintf("+ %d bytes", cut)})
		}
	}()
	for i, r := range s {
		if !invisible(r) {
			continue
		}
		if from < i {
			out = append(out, textPiece{Text: s[from:i]})
		}
		out = append(out, textPiece{Mark: fmt.Sprintf("U+%04X", r)})
		from = i + len(string(r))
	}
	if from < len(s) {
		out = append(out, textPiece{Text: s[from:]})
	}
	return out
}

func invisible(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x180B, 0x180C, 0x180D, 0x180E:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == unicode.ReplacementChar ||
		r >= 0xE0100 && r <= 0xE01EF
}

// diffLine is a line of a unified diff.
type diffLine struct {
	Kind string // add, del, head or same
	Sign string
	Text string
}

// diffLines divides a unified diff.
func diffLines(diff string) (out []diffLine) {
	for line := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		l := diffLine{Kind: "same", Sign: " ", Text: line}
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
			l.Kind, l.Sign = "head", ""
		case strings.HasPrefix(line, "+"):
			l.Kind, l.Sign, l.Text = "add", "+", line[1:]
		case strings.HasPrefix(line, "-"):
			l.Kind, l.Sign, l.Text = "del", "−", line[1:]
		case strings.HasPrefix(line, " "):
			l.Text = line[1:]
		}
		out = append(out, l)
	}
	return out
}

// showDuration formats a duration, or a number of seconds, in the unit that fits.
func showDuration(d any) string {
	var v time.Duration
	switch x := d.(type) {
	case time.Duration:
		v = x
	case float64:
		v = time.Duration(x * float64(time.Second))
	default:
		return ""
	}
	switch {
	case v < time.Second:
		return fmt.Sprintf("%d ms", v.Milliseconds())
	case v < time.Minute:
		return fmt.Sprintf("%.1f s", v.Seconds())
	case v < time.Hour:
		return fmt.Sprintf("%d min %d s", int(v.Minutes()), int(v.Seconds())%60)
	case v < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(v.Hours()), int(v.Minutes())%60)
	}
	return fmt.Sprintf("%d d", int(v.Hours()/24))
}

// clipText cuts a text to a number of characters.
func clipText(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}
