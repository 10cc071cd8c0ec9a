package executor

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/internal/domain/transcript"
)

// Part is the part of one message that belongs to a span.
type Part struct {
	Seq     int
	Role    string
	Speaker string // empty if unknown
	Time    time.Time
	Text    string
}

// Span is a part of a session that one model call processes.
type Span struct {
	Number int // from 0
	// Heading precedes the text. It holds the date of the session and, for several turns, the
	// marker of a conversation.
	Heading string
	Parts   []Part
}

// FromSeq returns the number of the first message of the span.
func (s Span) FromSeq() int { return s.Parts[0].Seq }

// ToSeq returns the number of the last message of the span.
func (s Span) ToSeq() int { return s.Parts[len(s.Parts)-1].Seq }

// Text returns the text that is embedded for the span: its heading, speakers and texts.
func (s Span) Text() string {
	var lines []string
	if s.Heading != "" {
		lines = append(lines, s.Heading)
	}
	for _, p := range s.Parts {
		line := p.Text
		if p.Speaker != "" {
			line = p.Speaker + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Spans divides messages into spans. It divides between words, and no span crosses the end of a
// session.
func Spans(said []transcript.Message, how Spanning) (out []Span) {
	for _, session := range sessions(said, how.Pause) {
		title := titled(session, how.Mode)
		for _, s := range cut(session, how) {
			s.Number, s.Heading = len(out), title
			out = append(out, s)
		}
	}
	return out
}

// talk is the marker in the heading of spans with several turns.
const talk = "Conversation:"

// titled returns the heading of a session: its date, if known, and the marker of a conversation.
func titled(session []transcript.Message, mode string) string {
	var lines []string
	for _, m := range session {
		if !m.Time.IsZero() {
			lines = append(lines, "Date: "+m.Time.UTC().Format(time.DateOnly))
			break
		}
	}
	if mode != Turn && mode != Paragraph {
		lines = append(lines, talk)
	}
	return strings.Join(lines, "\n")
}

// sessions divides messages at their pauses, as far as times are known.
func sessions(said []transcript.Message, pause time.Duration) (out [][]transcript.Message) {
	start := 0
	var last time.Time
	for i, m := range said {
		if pause > 0 && !m.Time.IsZero() {
			if !last.IsZero() && m.Time.Sub(last) > pause {
				out = append(out, said[start:i])
				start = i
			}
			last = m.Time
		}
	}
	return append(out, said[start:])
}

// cut returns the spans of one session. The caller numbers them.
func cut(said []transcript.Message, how Spanning) (out []Span) {
	if how.fixed() {
		return windowed(said, how)
	}
	var parts []Part
	for _, m := range said {
		texts := []string{m.Content}
		if how.Mode == Paragraph {
			texts = Paragraphs(m.Content)
		}
		for _, text := range texts {
			p := part(m)
			p.Text = text
			parts = append(parts, p)
		}
	}
	parts = trimmed(parts)
	size := map[string]int{TurnPair: 2, FullSession: len(parts)}[how.Mode]
	for some := range slices.Chunk(parts, max(1, size)) {
		out = append(out, Span{Parts: some})
	}
	return out
}

func part(m transcript.Message) Part {
	return Part{Seq: m.Seq, Role: string(m.Role), Speaker: m.Name, Time: m.Time}
}

// windowed returns the spans of a session as windows of tokens.
func windowed(said []transcript.Message, how Spanning) []Span {
	var pieces []piece
	tokens := 0
	for i, m := range said {
		for _, text := range words(m.Content) {
			pieces = append(pieces, piece{message: i, text: text, at: tokens})
			tokens += weight(text)
		}
	}
	if len(pieces) == 0 {
		return nil
	}
	var out []Span
	for _, w := range Windows(tokens, max(1, how.Tokens), how.Overlap) {
		var s Span
		last := -1
		for _, p := range pieces {
			if p.at < w.From || p.at >= w.To {
				continue
			}
			if p.message != last {
				s.Parts = append(s.Parts, part(said[p.message]))
				last = p.message
			}
			s.Parts[len(s.Parts)-1].Text += p.text
		}
		s.Parts = trimmed(s.Parts)
		if len(s.Parts) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// trimmed removes parts that consist of white space.
func trimmed(parts []Part) (out []Part) {
	for _, p := range parts {
		if p.Text = strings.TrimSpace(p.Text); p.Text != "" {
			out = append(out, p)
		}
	}
	return out
}

type piece struct {
	message int
	text    string // with the white space after it
	at      int    // tokens before it
}

// words splits a text after white space and around ideographs. It keeps every byte.
func words(text string) (out []string) {
	start, blank := 0, false
	for i, r := range text {
		space, wide := unicode.IsSpace(r), unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
			unicode.Hangul)
		if i > start && (blank && !space || wide) {
			out = append(out, text[start:i])
			start = i
		}
		blank = space || wide
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// runesPerToken is the usual ratio for languages with spaces.
const runesPerToken = 4

func weight(word string) int {
	n := len([]rune(strings.TrimSpace(word)))
	return max(1, (n+runesPerToken-1)/runesPerToken)
}
