package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
)

func TestExtractJSONFindsTheOutermostValue(t *testing.T) {
	t.Parallel()
	const fenced = `{"example":"` + "```json\\n{}\\n```" + `","brace":"}]"}`
	for name, test := range map[string]struct{ text, want string }{
		"bare":                  {` {"a":[1,{"b":2}]} `, `{"a":[1,{"b":2}]}`},
		"array":                 {`[[0,2],[6,7]]`, `[[0,2],[6,7]]`},
		"empty":                 {`{}`, `{}`},
		"null":                  {"\n null ", `null`},
		"byte order mark":       {"\ufeff{}", `{}`},
		"thought":               {"<think>maybe {\"a\":0}?</think>\n{\"a\":1}", `{"a":1}`},
		"thought, then null":    {"<think>nothing</think>null", `null`},
		"fence":                 {"Here it is:\n```json\n{\"a\":1}\n```\nDone.", `{"a":1}`},
		"fence inside a string": {fenced, fenced},
		"both":                  {"```json\n" + fenced + "\n```", fenced},
		"prose with brackets":   {`See [the list] of {names} and [1]: {"a":"b"} (ok?)`, `{"a":"b"}`},
		"strings as they stand": {`{"a":"x,}\t\u00e9 …"}`, `{"a":"x,}\t\u00e9 …"}`},
		"spaces kept":           {"{ \"a\" : 1 }", "{ \"a\" : 1 }"},
	} {
		got, err := llm.ExtractJSON(test.text)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestExtractJSONTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, says string }{
		"prose":         {"I found nothing.", "no JSON object or array"},
		"empty":         {"", "no JSON object or array"},
		"null in prose": {"It is null.", "no JSON object or array"},
		"single quotes": {`{'a':1}`, `has a JSON error at offset 1, after "{"`},
		"scalar":        {"42", "no JSON object or array"},
		"trailing comma": {`{"a":1,}`,
			`offset 7, after "{\"a\":1,": invalid character '}' looking for beginning of object key string`},
		"trailing comma, array":    {`[1,2,]`, "offset 5"},
		"trailing comma in fence":  {"ok\n```json\n[{\"a\":1},]\n```", "offset 20"},
		"cut off":                  {`{"a":[1,2],"b":"x`, "starts at offset 0 is cut off"},
		"thought without end":      {`<think>{"a":1}`, "ends inside <think>"},
		"raw newline in a string":  {"{\"a\":\"x\ny\"}", "invalid character '\\n' in string literal"},
		"single quotes after good": {`{"a":1} {"b":'x'}`, "offset 13"},
	} {
		got, err := llm.ExtractJSON(test.text)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %s, %v, want an error with %q", name, got, err, test.says)
		}
	}
}

func FuzzExtractJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, "```json\n[1]\n```", `<think>x</think>null`, `{"a":1,}`, `[1] {"a":"}"}`,
		`{"a":`, "\ufeff{}", `{"<think>":"</think>"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := llm.ExtractJSON(text)
		if err != nil {
			if got != nil || err.Error() == "" {
				t.Fatalf("an error with the value %q", got)
			}
			return
		}
		if !json.Valid(got) || !strings.Contains(text, string(got)) {
			t.Fatalf("%q is not valid JSON that stands in %q", got, text)
		}
		again, err := llm.ExtractJSON(string(got))
		if err != nil || string(again) != string(got) {
			t.Fatalf("extracting again: %q, %v", again, err)
		}
	})
}

func TestRepairShowsTheReplyAndTheProblem(t *testing.T) {
	t.Parallel()
	problem := errors.New("name: missing")
	for language, want := range map[string]string{
		"en": "Your reply did not fit: name: missing\nReply with the corrected JSON only.",
		"zh": "你的回复不符合要求：name: missing\n请只回复修正后的 JSON。",
	} {
		turns := llm.Repair(language, `{"a":1}`, problem)
		if !reflect.DeepEqual(turns, []llm.Message{{Role: llm.RoleAssistant, Content: `{"a":1}`},
			{Role: llm.RoleUser, Content: want}}) {
			t.Errorf("%s: got %+v", language, turns)
		}
	}
}
