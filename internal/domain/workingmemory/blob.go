package workingmemory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// Kind is the kind of a blob's content.
type Kind string

const (
	Text     Kind = "text"     // one tool result
	Messages Kind = "messages" // a JSON array of messages
)

// Blob is offloaded content.
type Blob struct {
	SHA     [sha256.Size]byte // of kind and content
	Kind    Kind
	Content string
	Label   string // description for people: the tool's name, or the range of messages
}

// scheme is the prefix of every handle.
const scheme = "offload://"

// Handle names a blob: offload:// and the 64 hexadecimal digits of its hash.
func (b Blob) Handle() string { return scheme + hex.EncodeToString(b.SHA[:]) }

// ParseHandle decodes a handle. An invalid handle is fault.InvalidArgument.
func ParseHandle(handle string) (sha [sha256.Size]byte, err error) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(handle), scheme)
	raw, bad := hex.DecodeString(digits)
	if !ok || bad != nil || len(raw) != len(sha) {
		return sha, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid handle %.100q", handle),
			"send offload:// and 64 hexadecimal digits, as a pointer in the conversation shows")
	}
	return [sha256.Size]byte(raw), nil
}

func newBlob(kind Kind, content, label string) Blob {
	return Blob{SHA: sha256.Sum256([]byte(string(kind) + "\x00" + content)), Kind: kind, Content: content, Label: label}
}

// NewText returns the blob of one tool result.
func NewText(content, label string) Blob { return newBlob(Text, content, label) }

// NewMessages returns the blob of some messages.
func NewMessages(ms []transcript.Message, label string) (Blob, error) {
	raw, err := json.Marshal(ms)
	if err != nil {
		return Blob{}, fmt.Errorf("encode messages: %w", err)
	}
	return newBlob(Messages, string(raw), label), nil
}

// Messages returns the messages of a blob of kind messages.
func (b Blob) Messages() (out []transcript.Message, err error) {
	if err = json.Unmarshal([]byte(b.Content), &out); err != nil {
		err = fmt.Errorf("decode the messages of %s: %w", b.Handle(), err)
	}
	return out, err
}

// Text returns the content in the form that is searched and read by lines.
func (b Blob) Text() (string, error) {
	if b.Kind == Text {
		return b.Content, nil
	}
	ms, err := b.Messages()
	return Render(ms), err
}

// Render returns messages as lines. Each message starts with its speaker.
func Render(ms []transcript.Message) string {
	var out strings.Builder
	for _, m := range ms {
		who := string(m.Role)
		if m.Name != "" {
			who += " " + m.Name
		}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			fmt.Fprintf(&out, "%s: %s\n", who, m.Content)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&out, "%s calls %s(%s)\n", who, c.Name, c.Arguments)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// pointer replaces offloaded content in a message. It states what the content is, its handle, and
// the tools that read it.
func pointer(b Blob, preview int) string {
	runes := []rune(b.Content)
	text := fmt.Sprintf("[%s holds %d characters in %d lines that were put away; grep_content searches them, "+
		"read_content reads them]", b.Handle(), len(runes), len(lines(b.Content)))
	if preview > 0 {
		text += "\n" + string(runes[:min(preview, len(runes))]) + "…"
	}
	return text
}

var pointing = regexp.MustCompile(`^\[` + scheme + `([0-9a-f]{64}) holds `)

// Pointed returns the handle in a message that is a pointer, and the empty text for any other
// message.
func Pointed(content string) string {
	if m := pointing.FindStringSubmatch(content); m != nil {
		return scheme + m[1]
	}
	return ""
}
