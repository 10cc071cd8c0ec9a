package executor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Ways to cut a session, by name.
const (
	Turn        = "turn"         // a message each
	TurnPair    = "turn-pair"    // two messages each, none in two pairs
	FullSession = "full-session" // all of it: what the paper trains on
	FixedLength = "fixed-length" // windows of tokens that overlap: the default
	Paragraph   = "paragraph"    // before each "Document n:", else at blank lines
)

// Modes are the names of the ways to cut.
var Modes = []string{Turn, TurnPair, FullSession, FixedLength, Paragraph}

// Spanning says how a session is cut.
type Spanning struct {
	// Mode is one of Modes. Empty is FixedLength of a run that was accepted before
	// modes had names: its spans go on without a heading.
	Mode    string `json:"spans,omitempty"`
	Tokens  int    `json:"tokens"`  // of a span of FixedLength, estimated; its dates and names do not count
	Overlap int    `json:"overlap"` // that a span of FixedLength shares with the one before
	// Pause between two messages ends a session: no span goes on beyond it. 0 is
	// one session.
	Pause time.Duration `json:"pause,omitempty"`
}

// DefaultSpans are of 512 tokens with 64 shared, of sittings with less than half
// an hour between two messages.
func DefaultSpans() Spanning {
	return Spanning{Mode: FixedLength, Tokens: 512, Overlap: 64, Pause: 30 * time.Minute}
}

// mostTokens bounds a window: what is larger is a session.
const mostTokens = 1_000_000

// Check refuses a way to cut that does not exist.
func (s Spanning) Check() error {
	switch {
	case s.Mode != "" && !slices.Contains(Modes, s.Mode):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("sessions cannot be cut by %q", s.Mode),
			"use "+strings.Join(Modes[:len(Modes)-1], ", ")+" or "+Modes[len(Modes)-1])
	case s.fixed() && (s.Tokens < 1 || s.Tokens > mostTokens):
		return fault.Newf(fault.InvalidArgument, "a span has %d tokens; it has 1 to %d", s.Tokens, mostTokens)
	case s.Overlap < 0 || s.Pause < 0:
		return fault.Newf(fault.InvalidArgument,
			"spans share %d tokens and sessions end at a pause of %s; both are 0 or more", s.Overlap, s.Pause)
	}
	return nil
}

func (s Spanning) fixed() bool { return s.Mode == FixedLength || s.Mode == "" }

var document = regexp.MustCompile(`(?m)^Document \d+:`)

// Paragraphs cuts a text before each "Document n:" at the beginning of a line,
// and where there is none at blank lines. They are trimmed, and none is empty.
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
