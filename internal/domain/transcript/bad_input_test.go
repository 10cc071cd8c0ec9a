package transcript_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

func TestParseSaysWhereTheInputIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"empty":       {"", "in: empty"},
		"only blanks": {" \n\t\n", "in: empty"},
		"broken JSON": {"[\n  {\"role\": \"user\",\n   \"content\" \"x\"}\n]",
			"in:3:14: not valid JSON: invalid character '\"' after object key"},
		"cut off JSON": {"[{\"role\": \"user\"", "in:1:17: not valid JSON: unexpected EOF"},
		"broken second line": {"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":]",
			"in:2:9: not valid JSON: invalid character ']'"},
		"no messages in array":  {"[]", "in: no messages"},
		"no messages in object": {`{"messages":[]}`, "in: no messages"},
		"one of many is empty": {`[{"messages":[{"role":"user","content":"x"}]},{"messages":[]}]`,
			"in: conversation 1: no messages"},
		"object of another kind": {`{"model":"x"}`, "in: line 1: no messages: the object has neither"},
		"messages is no array":   {`{"messages":"x"}`, "in: line 1: messages must be an array"},
		"unknown role": {`[{"role":"user","content":"x"},{"role":"robot","content":"y"}]`,
			`in: item 1: unknown role "robot"`},
		"unknown role in a line": {"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":\"robot\"}",
			`in: line 2: unknown role "robot"`},
		"unknown role, nested":    {`[{"messages":[{"role":"robot"}]}]`, `in: item 0: message 0: unknown role "robot"`},
		"missing role":            {`{"messages":[{"content":"x"}]}`, "in: line 1: message 0: role is missing"},
		"content of another kind": {`[{"role":"user","content":{"a":1}}]`, "in: item 0: content is"},
		"number in the list":      {`[7]`, "in: item 0: want an object"},
		"mixed list": {`[{"role":"user","content":"x"},{"messages":[{"role":"user","content":"x"}]}]`,
			"in: item 1: messages and conversations"},
		"NUL":            {"user: a\x00b", "in: byte 7: unexpected NUL"},
		"invalid UTF-8":  {"user: \xff", "in: byte 6: invalid UTF-8"},
		"over the limit": {"user: " + strings.Repeat("x", 200), "in: more than 190 bytes"},
		"message id twice": {`[{"id":"a","role":"user","content":"x"},{"id":"a","role":"user","content":"y"}]`,
			`in: message 1: id "a" is already used by message 0`},
		"text without a speaker": {"\nhello there\n", "in:2:1: no `name: text` line"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transcript.Parse("in", strings.NewReader(c.input), 190)
			var f *fault.Error
			if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			want := fault.InvalidArgument
			if name == "over the limit" {
				want = fault.TooLarge
			}
			if f.Code != want {
				t.Errorf("code %s, want %s", f.Code, want)
			}
			if f.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

// endless is an endless file that counts the bytes read from it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestParseRefusesABigFileWithoutReadingIt(t *testing.T) {
	source := &endless{}
	_, err := transcript.Parse("big.txt", io.LimitReader(source, 100<<20), 1<<20)
	if fault.CodeOf(err) != fault.TooLarge {
		t.Fatalf("got %v", err)
	}
	if source.read > 2<<20 {
		t.Errorf("read %d bytes of a file that is over the limit of %d", source.read, 1<<20)
	}
}
