package prompt

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func sample() Material {
	return Material{
		Task: "Release",
		Messages: []Message{{Index: 0, Role: "user", Content: "a <b> & ```json\n{}\n``` c"},
			{Index: 1, Role: "assistant", ToolCalls: []string{`tag({"v":"1"})`}}},
		Candidates: []Candidate{{Handle: "S1", Name: "x", Description: "d"}},
		Cases:      json.RawMessage(`[1,2]`),
		Limits:     map[string]int{"max_tasks": 3, "max_files": 2},
		Language:   "en",
	}
}

func TestUserIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	text, err := User(sample())
	if err != nil {
		t.Fatal(err)
	}
	again, _ := User(sample())
	if text != again {
		t.Error("two renderings differ")
	}
	for name, message := range map[string]string{"alone": text,
		"with text around": "Please look.\n" + text + "\nThank you."} {
		got, err := ReadMaterial(message)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, sample()) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestUserFenceIsLongerThanAnyInTheData(t *testing.T) {
	t.Parallel()
	for _, run := range []int{0, 2, 3, 7} {
		text, err := User(Material{Question: "x\n" + strings.Repeat("`", run) + "\ny"})
		if err != nil {
			t.Fatal(err)
		}
		fence, _, _ := strings.Cut(text, "json")
		if len(fence) != max(3, run+1) || !strings.HasSuffix(text, "\n"+fence) {
			t.Errorf("run of %d: fence %q", run, fence)
		}
	}
}

func TestReadMaterialRefusesWhatIsNoMaterial(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello", "```json\n{", "```json\n[1]\n```", "```json\nnot json\n```"} {
		if _, err := ReadMaterial(text); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzUserRoundTrip(f *testing.F) {
	f.Add("```\n````json", "你好 \u2028 `")
	f.Fuzz(func(t *testing.T, question, content string) {
		m := Material{Question: strings.ToValidUTF8(question, "?"),
			Messages: []Message{{Role: "user", Content: strings.ToValidUTF8(content, "?")}}}
		text, err := User(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadMaterial(text)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("got %+v, %v; want %+v", got, err, m)
		}
	})
}

// The first part of two requests about one window has the same bytes, and both parts are read back.
func TestWindowAndStepAreReadBackAsOneMaterial(t *testing.T) {
	t.Parallel()
	messages := []Message{{Index: 3, Role: "user", Content: "```schema\n{}\n``` ```json\n{\"task\":\"x\"}\n```"},
		{Index: 4, Role: "assistant", Content: "b"}, {Index: 7, Role: "user", Content: "c"}}
	window, err := Window(messages)
	if err != nil {
		t.Fatal(err)
	}
	schema := Schema(Segment)
	for name, test := range map[string]struct {
		step Material
		want []Message
	}{
		"all messages": {Material{Task: "Release", Limits: map[string]int{"max_tasks": 3}}, messages},
		"two ranges": {Material{Task: "Release", Ranges: [][2]int{{3, 3}, {5, 9}}},
			[]Message{messages[0], messages[2]}},
	} {
		step, err := Step("Divide.", schema, test.step)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(step, "\n```schema\n") != 1 || !strings.HasPrefix(step, "Divide.\n\n```schema\n{\"type\"") {
			t.Errorf("%s: %.80s", name, step)
		}
		got, err := ReadMaterial(window + step)
		want := test.step
		want.Messages = test.want
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestJSONContentIsNotEscaped(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"a":"<b>","n":[1,2]}`: `"content":{"a":"<b>","n":[1,2]}`,
		`[{"a":null}]`:          `"content":[{"a":null}]`,
		`{"a": 1}`:              `"content":"{\"a\": 1}"`,
		`null`:                  `"content":"null"`,
		`"quoted"`:              `"content":"\"quoted\""`,
		`12`:                    `"content":"12"`,
		"{\"a\":\"\u2028\"}":    "",
		"":                      "",
	} {
		m := Material{Messages: []Message{{Index: 1, Role: "tool", Content: content}}}
		text, err := User(m)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%q: %s, %v", content, text, err)
		}
		if got, err := ReadMaterial(text); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%q: read back as %+v, %v", content, got, err)
		}
	}
}
