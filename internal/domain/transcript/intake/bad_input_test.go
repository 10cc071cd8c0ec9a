package intake_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
)

func TestParseSaysWhereTheInputIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"empty":       {"", "in: empty"},
		"only blanks": {" \n\t\n", "in: empty"},
		"broken JSON": {"[\n  {\"role\": \"user\",\n   \"content\" \"x\"}\n]",
			"openai-chat: in:3:14: not valid JSON: invalid character '\"' after object name (expecting ':')"},
		"cut off JSON": {"[{\"role\": \"user\"", "openai-chat: in:1:17: not valid JSON: unexpected EOF"},
		"broken second line": {"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":]\n",
			"openai-chat: in:2:9: not valid JSON: invalid character ']'"},
		"no messages in array":   {"[]", "in: no messages"},
		"no messages in object":  {`{"messages":[]}`, "openai-chat: in: no messages"},
		"object of another kind": {`{"model":"x"}`, "in: unknown format: keys model"},
		"messages is no array":   {`{"messages":"x"}`, "openai-chat: in:1:13: messages must be an array"},
		"unknown role": {`[{"role":"user","content":"x"},{"role":"robot","content":"y"}]`,
			`openai-chat: in:1:40: unknown role "robot"`},
		"unknown role in a line": {"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":\"robot\"}",
			`openai-chat: in:2:9: unknown role "robot"`},
		"unknown role, nested":    {`[{"messages":[{"role":"robot"}]}]`, `openai-chat: in:1:23: unknown role "robot"`},
		"missing role":            {`{"messages":[{"content":"x"}]}`, "openai-chat: in:1:14: role is missing"},
		"content of another kind": {`[{"role":"user","content":{"a":1}}]`, "openai-chat: in:1:27: content must be"},
		"number in the list":      {`[7]`, "in: no messages"},
		"mixed list": {`[{"role":"user","content":"x"},{"messages":[{"role":"user","content":"x"}]}]`,
			"openai-chat: in:1:32: messages and conversations"},
		"NUL":            {"user: a\x00b", "text: in:1:8: unexpected NUL"},
		"invalid UTF-8":  {"user: \xff", "text: in:1:7: invalid UTF-8"},
		"over the limit": {"user: " + strings.Repeat("x", 200), "in: more than 190 bytes"},
		"message id twice": {`[{"id":"a","role":"user","content":"x"},{"id":"a","role":"user","content":"y"}]`,
			`openai-chat: in:1:47: id "a" is already used by message 0`},
		"text without a speaker": {"\nhello there\n", "in: unknown format: neither JSON nor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseAll("in", strings.NewReader(c.input), 190)
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
	_, err := parseAll("big.txt", io.MultiReader(strings.NewReader("user: "), io.LimitReader(source, 100<<20)), 1<<20)
	if fault.CodeOf(err) != fault.TooLarge {
		t.Fatalf("got %v", err)
	}
	if source.read > 2<<20 {
		t.Errorf("read %d bytes of a file that is over the limit of %d", source.read, 1<<20)
	}
}

// A caller of the API has no command line.
func TestAHintForMessagesNamesNoFlag(t *testing.T) {
	t.Parallel()
	_, err := intake.Messages("messages", []byte("[]"))
	f := fault.From(err)
	if f == nil || f.Code != fault.InvalidArgument || f.Hint != "send at least one message with a role and content" {
		t.Errorf("%+v", f)
	}
}
