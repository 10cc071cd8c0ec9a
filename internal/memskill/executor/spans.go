package executor

import (
	"strings"
	"time"
	"unicode"

	"cairn/internal/transcript"
)

// Spanning says how a session is cut.
type Spanning struct {
	Tokens  int `json:"tokens"`  // of a span, estimated; its dates and names do not count
	Overlap int `json:"overlap"` // that a span shares with the one before
	// Pause between two messages ends a session: no span goes on beyond it. 0 is
	// one session.
	Pause time.Duration `json:"pause,omitempty"`
}

// DefaultSpans are of 512 tokens with 64 shared, of sittings with less than half
// an hour between two messages.
func DefaultSpans() Spanning { return Spanning{Tokens: 512, Overlap: 64, Pause: 30 * time.Minute} }

// Part is what a span holds of one message.
type Part struct {
	Seq     int
	Role    string
	Speaker string // the name that is known, else empty
	Time    time.Time
	Text    string
}

// Span is a part of a session that is remembered with one model call.
type Span struct {
	Number int // from 0
	Parts  []Part
}

// FromSeq and ToSeq are the messages that the span touches, both included.
func (s Span) FromSeq() int { return s.Parts[0].Seq }
func (s Span) ToSeq() int   { return s.Parts[len(s.Parts)-1].Seq }

// Text is what stands for the span in vector space: who said what.
func (s Span) Text() string {
	var lines []string
	for _, p := range s.Parts {
		line := p.Text
		if p.Speaker != "" {
			line = p.Speaker + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Spans cuts what was said. A cut falls between words, never inside one, and a
// session that fits is one span.
func Spans(said []transcript.Message, how Spanning) (out []Span) {
	for _, session := range sessions(said, how.Pause) {
		for _, s := range cut(session, how) {
			s.Number = len(out)
			out = append(out, s)
		}
	}
	return out
}

// sessions divides what was said at its pauses, as far as times are known.
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

// cut makes spans of one session, numbered by the caller.
func cut(said []transcript.Message, how Spanning) []Span {
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
				m := said[p.message]
				s.Parts = append(s.Parts, Part{Seq: m.Seq, Role: string(m.Role), Speaker: m.Name, Time: m.Time})
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

// trimmed drops parts of white space alone.
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

// words cuts a text after white space and around ideographs, and loses nothing.
func words(text string) (out []string) {
	start, blank := 0, false
	for i, r := range text {
		space, wide := unicode.IsSpace(r), unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
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

// runesPerToken is the usual rule of thumb for languages with spaces.
const runesPerToken = 4

func weight(word string) int {
	n := len([]rune(strings.TrimSpace(word)))
	return max(1, (n+runesPerToken-1)/runesPerToken)
}
