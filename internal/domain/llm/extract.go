package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// jsonStart matches the start of a JSON object or array. It does not match "[the list]" or "{name}"
// in prose.
var jsonStart = regexp.MustCompile(`\{\s*["}]|\[\s*([\[\]{"0-9-]|true\b|false\b|null\b)`)

// ExtractJSON returns the JSON value in a model's reply: the outermost object or array, after a
// leading <think>…</think>, inside a Markdown fence or between sentences. If there are several, it
// returns the longest. A reply that is exactly null is null. The value is an unchanged part of the
// text: nothing is repaired, and braces and fences inside strings are ignored. The error is written
// for the model: it names the position and what was expected there.
func ExtractJSON(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if strings.HasPrefix(text, thinkOpen) {
		_, rest, closed := strings.Cut(text, thinkClose)
		if !closed {
			return nil, errors.New("the reply ends inside " + thinkOpen + " and holds no JSON")
		}
		text = strings.TrimSpace(rest)
	}
	if text == "null" {
		return json.RawMessage(text), nil
	}
	var longest json.RawMessage
	for offset := 0; ; {
		start := jsonStart.FindStringIndex(text[offset:])
		if start == nil {
			break
		}
		offset += start[0]
		value, err := decodeFirst(text, offset)
		if err != nil {
			return nil, err
		}
		if len(value) > len(longest) {
			longest = value
		}
		offset += len(value)
	}
	if longest == nil {
		return nil, noJSON(text)
	}
	return longest, nil
}

// noJSON points at text that may have been meant as JSON, such as {'a': 1}.
func noJSON(text string) error {
	const found = "the reply holds no JSON object or array"
	if offset := strings.IndexAny(text, "{["); offset >= 0 {
		if _, err := decodeFirst(text, offset); err != nil {
			return fmt.Errorf(found+"; what looks most like one has a %w", err)
		}
	}
	return errors.New(found)
}

// decodeFirst decodes the value that starts at offset.
func decodeFirst(text string, offset int) (json.RawMessage, error) {
	var value json.RawMessage
	err := json.NewDecoder(strings.NewReader(text[offset:])).Decode(&value)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return bytes.Clone(value), nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the JSON that starts at offset %d is cut off: its end was expected at offset %d",
			offset, len(text))
	case errors.As(err, &syntax):
		at := offset + int(syntax.Offset) - 1
		return nil, fmt.Errorf("JSON error at offset %d, after %q: %w", at, before(text, at), err)
	default:
		return nil, fmt.Errorf("JSON error in the value that starts at offset %d: %w", offset, err)
	}
}

// before returns the text just before an offset, so that a model can find the position.
func before(text string, at int) string {
	const shown = 24 // bytes
	at = min(max(at, 0), len(text))
	return strings.ToValidUTF8(text[max(0, at-shown):at], "")
}
