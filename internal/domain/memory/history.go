package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/transcript"
)

// History is one session: a range of a conversation's messages, both ends included. Its ID is a
// hash of the messages.
type History struct {
	ID           string    `json:"memory_id"`
	SHA          [32]byte  `json:"-"`
	Conversation int64     `json:"conversation_id"`
	FromSeq      int       `json:"from_seq"`
	ToSeq        int       `json:"to_seq"`
	Messages     int       `json:"messages"`
	Tokens       int       `json:"tokens"` // estimated
	Author       string    `json:"author,omitempty"`
	CreatedAt    time.Time `json:"created_at"`
}

// Chunk is a part of a session that a search can find.
type Chunk struct {
	Number  int
	FromSeq int
	ToSeq   int
	Tokens  int
	Text    string
	Score   float64
}

// Limits of a chunk. The first one that is reached ends the chunk. A message is never split.
const (
	ChunkTurns  = 3
	ChunkTokens = 800
)

// Dialogue returns the messages without system messages.
func Dialogue(messages []transcript.Message) (out []transcript.Message) {
	for _, m := range messages {
		if m.Role != transcript.System {
			out = append(out, m)
		}
	}
	return out
}

// HistorySum returns the hash of a workspace's session. Equal messages are the same session,
// whatever their IDs and positions are.
func HistorySum(ws int64, messages []transcript.Message) (sum [32]byte, err error) {
	said := Dialogue(messages)
	for i := range said {
		said[i].ID, said[i].Seq, said[i].Time, said[i].Place = "", i, said[i].Time.UTC(), nil
	}
	raw, err := json.Marshal(struct {
		Workspace int64
		Messages  []transcript.Message
	}{ws, said})
	if err != nil {
		return sum, fmt.Errorf("encode the messages: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// HistoryID returns the ID of a session's hash. A salt above 0 returns another ID, in case the
// first one is taken.
func HistoryID(sum [32]byte, salt int) string {
	if salt > 0 {
		sum = sha256.Sum256(fmt.Appendf(sum[:], "%d", salt))
	}
	return hex.EncodeToString(sum[:8])
}

// Rendered returns a message as a transcript shows it: time and speaker, then the text, then the
// calls.
func Rendered(m transcript.Message) string {
	var b strings.Builder
	if !m.Time.IsZero() {
		b.WriteString("[" + m.Time.UTC().Format(timeLayout) + "] ")
	}
	name := m.Name
	if name == "" {
		name = m.Speaker()
	}
	b.WriteString(name + ":\n")
	if m.Content != "" {
		b.WriteString(WithoutData(m.Content) + "\n")
	}
	for _, c := range m.ToolCalls {
		b.WriteString("→ " + c.Name + "(" + WithoutData(c.Arguments) + ")\n")
	}
	return b.String()
}

// RenderedAll returns the transcript of a session.
func RenderedAll(messages []transcript.Message) string {
	var b strings.Builder
	for _, m := range Dialogue(messages) {
		b.WriteString(Rendered(m))
	}
	return b.String()
}

// data matches binary data in a transcript: data URLs, and runs of base64 that are longer than any
// word or key.
var data = regexp.MustCompile(`data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_-]*|[A-Za-z0-9+/_-]{400,}` +
	`={0,2}`)

// WithoutData replaces binary data with a short mark.
func WithoutData(text string) string { return data.ReplaceAllString(text, "[data left out]") }

// Chunks divides a session at its turns, which start with a user message. count estimates tokens.
func Chunks(messages []transcript.Message, count func(string) int) (out []Chunk) {
	turns := 0
	for _, m := range Dialogue(messages) {
		text := Rendered(m)
		tokens := count(text)
		begins := m.FromHuman()
		if begins {
			turns++
		}
		last := len(out) - 1
		if last < 0 || begins && turns > ChunkTurns || out[last].Tokens+tokens > ChunkTokens {
			out = append(out, Chunk{Number: len(out), FromSeq: m.Seq})
			last++
			turns = 0
			if begins {
				turns = 1
			}
		}
		c := &out[last]
		c.ToSeq, c.Tokens, c.Text = m.Seq, c.Tokens+tokens, c.Text+text
	}
	return out
}

// Page returns the part of a text from offset, in characters, with at most the given tokens. next
// is the offset of the next page, 0 after the last. A page ends at the end of a line, unless that
// line is longer than a page.
func Page(text string, offset, tokens int, count func(string) int) (page string, next int) {
	runes := []rune(text)
	if offset >= len(runes) {
		return "", 0
	}
	rest := runes[offset:]
	// Search for the longest prefix that fits: counts grow with the text.
	low, high := 1, len(rest)
	for low < high {
		middle := (low + high + 1) / 2
		if count(string(rest[:middle])) <= tokens {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if low == len(rest) {
		return string(rest), 0
	}
	page = string(rest[:low])
	if at := strings.LastIndexByte(page, '\n'); at > 0 {
		page = page[:at+1]
	}
	return page, offset + utf8.RuneCountInString(page)
}
