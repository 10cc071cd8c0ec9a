package executor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Names of the ways to divide a session.
const (
	Turn        = "turn"         // one message each
	TurnPair    = "turn-pair"    // two messages each, without overlap
	FullSession = "full-session" // the whole session: what the paper trains on
	FixedLength = "fixed-length" // overlapping windows of tokens: the default
	Paragraph   = "paragraph"    // before each "Document n:", else at blank lines
)

// Modes lists the ways to divide a session.
var Modes = []string{Turn, TurnPair, FullSession, FixedLength, Paragraph}

// Spanning configures the division of a session.
type Spanning struct {
	// Mode is one of Modes. Empty is FixedLength for runs from before modes had names; their spans
	// have no heading.
	Mode    string `json:"spans,omitempty"`
	Tokens  int    `json:"tokens"`  // estimated size of a FixedLength span, without dates and names
	Overlap int    `json:"overlap"` // tokens that a FixedLength span shares with the previous one
	// Pause between two messages ends a session; no span crosses it. 0 means one session.
	Pause time.Duration `json:"pause,omitempty"`
}

// DefaultSpans returns spans of 512 tokens with 64 shared tokens. A pause of half an hour ends a
// session.
func DefaultSpans() Spanning {
	return Spanning{Mode: FixedLength, Tokens: 512, Overlap: 64, Pause: 30 * time.Minute}
}

// maxTokens is the maximum size of a window. For larger sizes use FullSession.
const maxTokens = 1_000_000

// Check returns fault.InvalidArgument for an invalid division.
func (s Spanning) Check() error {
	switch {
	case s.Mode != "" && !slices.Contains(Modes, s.Mode):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown spans mode %q", s.Mode),
			"use "+strings.Join(Modes[:len(Modes)-1], ", ")+" or "+Modes[len(Modes)-1])
	case s.fixed() && (s.Tokens < 1 || s.Tokens > maxTokens):
		return fault.Newf(fault.InvalidArgument, "span size is %d tokens, must be 1 to %d", s.Tokens, maxTokens)
	case s.Overlap < 0 || s.Pause < 0:
		return fault.Newf(fault.InvalidArgument,
			"span overlap is %d tokens and pause is %s, both must be 0 or more", s.Overlap, s.Pause)
	}
	return nil
}

func (s Spanning) fixed() bool { return s.Mode == FixedLength || s.Mode == "" }

var document = regexp.MustCompile(`(?m)^Document \d+:`)

// Paragraphs divides a text before each "Document n:" at the start of a line. If there is none, it
// divides at blank lines. Paragraphs are trimmed and not empty.
func Paragraphs(text string) (out []string) {
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	places := document.FindAllStringIndex(text, -1)
	if len(places) == 0 {
		for _, part := range blank.Split(text, -1) {
			add(part)
		}
		return out
	}
	start := 0
	for _, p := range places {
		add(text[start:p[0]])
		start = p[0]
	}
	add(text[start:])
	return out
}

var blank = regexp.MustCompile(`\r?\n[ \t]*\r?\n`)
