package mem0api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// literalDepth is how deep the lists and objects of a literal may nest.
const literalDepth = 32

// value decodes a parameter of a URL that is JSON, or a Python literal such as {'user_id': 'ada'}, which the
// HTTP library of mem0's Python client sends.
func value(name, text string) (any, error) {
	var out any
	if decodeJSON([]byte(text), &out) == nil {
		return out, nil
	}
	l := literal{rest: text}
	out, err := l.value(0)
	if l.space(); err == nil && l.rest != "" {
		err = fmt.Errorf("unexpected %.20q", l.rest)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s: %v", name, err),
			`use a JSON object such as {"user_id":"ada"}, or a Python literal`)
	}
	return out, nil
}

// decodeJSON decodes one JSON value. Numbers keep their digits.
func decodeJSON(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // the decoder returns it as it is
		return fmt.Errorf("text after the value")
	}
	return nil
}

// literal reads Python literals: dict, list, tuple, str, int, float, bool and None.
type literal struct{ rest string }

func (l *literal) space() { l.rest = strings.TrimLeft(l.rest, " \t\r\n") }

// takes consumes a prefix.
func (l *literal) takes(prefix string) bool {
	l.space()
	rest, found := strings.CutPrefix(l.rest, prefix)
	if found {
		l.rest = rest
	}
	return found
}

func (l *literal) value(depth int) (any, error) {
	if depth > literalDepth {
		return nil, fmt.Errorf("more than %d levels", literalDepth)
	}
	switch {
	case l.takes("{"):
		return l.dict(depth)
	case l.takes("["):
		return l.list("]", depth)
	case l.takes("("):
		return l.list(")", depth)
	case l.rest != "" && strings.ContainsRune(`'"`, rune(l.rest[0])):
		return l.text()
	}
	end := strings.IndexAny(l.rest, ",]}): \t\r\n")
	if end < 0 {
		end = len(l.rest)
	}
	word := l.rest[:end]
	l.rest = l.rest[end:]
	switch word {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil
	}
	var number json.Number
	if err := json.Unmarshal([]byte(word), &number); err != nil || word == "null" {
		return nil, fmt.Errorf("unexpected %.20q", word+l.rest)
	}
	return number, nil
}

func (l *literal) dict(depth int) (any, error) {
	out := map[string]any{}
	for !l.takes("}") {
		if len(out) > 0 && !l.takes(",") {
			return nil, fmt.Errorf("want , or } before %.20q", l.rest)
		}
		if len(out) > 0 && l.takes("}") {
			break
		}
		l.space()
		name, err := l.text()
		if err != nil {
			return nil, err
		}
		if !l.takes(":") {
			return nil, fmt.Errorf("want : before %.20q", l.rest)
		}
		if out[name], err = l.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *literal) list(end string, depth int) (any, error) {
	out := []any{}
	for !l.takes(end) {
		if len(out) > 0 && !l.takes(",") {
			return nil, fmt.Errorf("want , or %s before %.20q", end, l.rest)
		}
		if len(out) > 0 && l.takes(end) {
			break
		}
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// escapes are the characters after a backslash that stand for others.
var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b",
	'f': "\f", 'v': "\v", '0': "\x00"}

func (l *literal) text() (string, error) {
	if l.rest == "" || l.rest[0] != '\'' && l.rest[0] != '"' {
		return "", fmt.Errorf("want a text before %.20q", l.rest)
	}
	quote := l.rest[0]
	var b strings.Builder
	for i := 1; i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == quote:
			l.rest = l.rest[i+1:]
			return b.String(), nil
		case c != '\\' || i+1 == len(l.rest):
			b.WriteByte(c)
		default:
			i++
			digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[l.rest[i]]
			if text, known := escapes[l.rest[i]]; known {
				b.WriteString(text)
				continue
			}
			if digits == 0 || i+digits >= len(l.rest) {
				return "", fmt.Errorf("unknown escape \\%c", l.rest[i])
			}
			n, err := strconv.ParseUint(l.rest[i+1:i+1+digits], 16, 32)
			if err != nil || n > utf8.MaxRune {
				return "", fmt.Errorf("invalid escape \\%s", l.rest[i:i+1+digits])
			}
			b.WriteRune(rune(n))
			i += digits
		}
	}
	return "", fmt.Errorf("text without an end: %.20q", l.rest)
}
