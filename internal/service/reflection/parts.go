package reflection

import (
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/transcript"
)

// Span is a range of messages that are shown together: of one conversation, on
// one local date. Message Seq is shown as Index First + Seq − FromSeq.
type Span struct {
	Conversation int64  `json:"conversation"`
	FromSeq      int    `json:"from_seq"`
	ToSeq        int    `json:"to_seq"`
	First        int    `json:"first"`
	Date         string `json:"date"`
	Part         int    `json:"part"`
}

// Limits of what one run takes up.
const (
	maxTurns     = 2000               // of people; what is beyond them is left for the next run
	maxMessages  = 10 * maxTurns      // with what was done to answer them
	maxAge       = 7 * 24 * time.Hour // before the window: what is older and unread is passed over
	partTokens   = 24_000             // of one part of a day
	messageRunes = 4000               // of one message, as the model is shown it
	maxParts     = 7                  // two responses each, and one to spare
)

// divide makes spans of messages, which come conversation by conversation. A
// part holds as many as its budget allows and breaks between turns. All says
// whether every message has found a place.
func divide(messages []Message, zone *time.Location) (spans []Span, all bool) {
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

func weight(m Message) int {
	if !m.Human {
		return 0
	}
	const frame = 12 // index, role, name and time
	n := llm.EstimateTokens(transcript.Clip(m.Content, messageRunes)) + frame
	for _, c := range m.ToolCalls {
		n += llm.EstimateTokens(transcript.Clip(c.Arguments, messageRunes))
	}
	return n
}

// parts is how many parts spans have.
func parts(spans []Span) int {
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].Part + 1
}

// inPart are the spans of one part.
func inPart(spans []Span, part int) (out []Span) {
	for _, s := range spans {
		if s.Part == part {
			out = append(out, s)
		}
	}
	return out
}

// cited finds the message behind an index.
func cited(spans []Span, index int) (s Span, seq int, found bool) {
	for _, s := range spans {
		if index >= s.First && index <= s.First+s.ToSeq-s.FromSeq {
			return s, s.FromSeq + index - s.First, true
		}
	}
	return Span{}, 0, false
}
