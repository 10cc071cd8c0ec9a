package reflection

import (
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/transcript"
)

// Span is a range of messages of one conversation on one local date, shown together. Message Seq
// has the index First + Seq − FromSeq.
type Span struct {
	Conversation int64  `json:"conversation"`
	FromSeq      int    `json:"from_seq"`
	ToSeq        int    `json:"to_seq"`
	First        int    `json:"first"`
	Date         string `json:"date"`
	Part         int    `json:"part"`
}

// Limits of one run.
const (
	maxTurns     = 2000               // user messages; the next run takes the rest
	maxMessages  = 10 * maxTurns      // all messages of these turns
	maxAge       = 7 * 24 * time.Hour // before the window; older unread messages are skipped
	partTokens   = 24_000             // of one part of a day
	messageRunes = 4000               // of one message in the prompt
	maxParts     = 7                  // two responses each, and one in reserve
)

// divide splits messages, ordered by conversation, into spans. Each part holds as many as its token
// limit allows and ends between turns. All reports whether every message fits.
func divide(messages []reflection.Message, zone *time.Location) (spans []Span, all bool) {
	part, tokens, index, turns := 0, 0, 1, 0
	for i, m := range messages {
		opens := m.Role == "user" && m.Human
		cost := weight(m)
		if tokens+cost > partTokens && tokens > 0 &&
			(opens || i > 0 && messages[i-1].Conversation != m.Conversation || tokens > 2*partTokens) {
			part, tokens = part+1, 0
		}
		if opens {
			turns++
		}
		if part == maxParts || turns > maxTurns {
			return spans, false
		}
		tokens += cost
		date := recurrence.DateOf(m.Said.In(zone)).String()
		if n := len(spans); n > 0 {
			last := &spans[n-1]
			if last.Conversation == m.Conversation && last.ToSeq+1 == m.Seq && last.Date == date && last.Part == part {
				last.ToSeq, index = m.Seq, index+1
				continue
			}
		}
		spans = append(spans, Span{Conversation: m.Conversation, FromSeq: m.Seq, ToSeq: m.Seq, First: index, Date: date,
			Part: part})
		index++
	}
	return spans, true
}

func weight(m reflection.Message) int {
	if !m.Human {
		return 0
	}
	const frame = 12 // tokens for index, role, name and time
	n := llm.EstimateTokens(transcript.Clip(m.Content, messageRunes)) + frame
	for _, c := range m.ToolCalls {
		n += llm.EstimateTokens(transcript.Clip(c.Arguments, messageRunes))
	}
	return n
}

// parts returns the number of parts of spans.
func parts(spans []Span) int {
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].Part + 1
}

// inPart returns the spans of one part.
func inPart(spans []Span, part int) (out []Span) {
	for _, s := range spans {
		if s.Part == part {
			out = append(out, s)
		}
	}
	return out
}

// cited finds the message with an index.
func cited(spans []Span, index int) (s Span, seq int, found bool) {
	for _, s := range spans {
		if index >= s.First && index <= s.First+s.ToSeq-s.FromSeq {
			return s, s.FromSeq + index - s.First, true
		}
	}
	return Span{}, 0, false
}
