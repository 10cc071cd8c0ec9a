package transcript

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// MaxInput is the default limit of Parse: 64 MiB.
const MaxInput = 64 << 20

const formats = "send OpenAI chat messages (an array, {\"messages\": […]} or one object a line), τ-bench " +
	"trajectories, or text lines of the form `user: …`"

// Parse parses all conversations of r. name identifies the input in titles and errors. limit is in
// bytes, and 0 means MaxInput. Parse reads at most limit+1 bytes. An error is a *fault.Error that
// states the position of the problem.
func Parse(name string, r io.Reader, limit int64) ([]Conversation, error) {
	if limit <= 0 {
		limit = MaxInput
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, fmt.Sprintf("read %s", name), "")
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d bytes", name, limit),
			"split it into several files, one conversation each")
	}
	if err := checkText(name, data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fault.New(fault.InvalidArgument, name+": empty", formats)
	}
	var conversations []Conversation
	if looksLikeJSON(data) {
		conversations, err = parseJSON(name, data)
	} else {
		conversations, err = parseText(name, string(data))
	}
	if err != nil {
		return nil, err
	}
	return finish(name, conversations)
}

// finish numbers messages, rejects messages that cannot be stored, and sets the ID and title of
// each conversation.
func finish(name string, conversations []Conversation) ([]Conversation, error) {
	if len(conversations) == 0 {
		return nil, fault.New(fault.InvalidArgument, name+": no messages", formats)
	}
	seen := map[string]int{}
	for i := range conversations {
		c := &conversations[i]
		where := name
		if len(conversations) > 1 {
			where = fmt.Sprintf("%s: conversation %d", name, i)
		}
		if len(c.Messages) == 0 {
			return nil, fault.New(fault.InvalidArgument, where+": no messages", formats)
		}
		if err := number(where, c.Messages); err != nil {
			return nil, err
		}
		c.ID = identify(c.Messages, seen)
		c.Title = title(name, c.Title, i, len(conversations))
	}
	return conversations, nil
}

func number(where string, messages []Message) error {
	positions := map[string]int{}
	for i := range messages {
		messages[i].Seq = i
		id := messages[i].ID
		if id == "" {
			continue
		}
		if first, taken := positions[id]; taken {
			return fault.New(fault.InvalidArgument,
				fmt.Sprintf("%s: message %d: id %q is already used by message %d", where, i, id, first),
				"use a unique id for each message of a conversation, or leave it out")
		}
		positions[id] = i
	}
	return nil
}

// title returns the title for people: the file and the part of it.
func title(name, own string, position, count int) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case own != "":
		return base + ": " + own
	case count > 1:
		return fmt.Sprintf("%s #%d", base, position+1)
	default:
		return base
	}
}

func checkText(name string, data []byte) error {
	const hint = "send UTF-8 text; export or convert the file first"
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s: byte %d: unexpected NUL, the input is not text", name, at), hint)
	}
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("%s: byte %d: invalid UTF-8", name, at), hint)
}

// looksLikeJSON distinguishes JSON from text, which can also start with a bracket: `[10:00] Ann:
// hello`.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	if data[0] == '{' {
		return true
	}
	if data[0] != '[' {
		return false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	_, ok := splitHead(string(line))
	return !ok
}

// place converts a byte offset to a line and column, both from 1. The column is in runes.
func place(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}
