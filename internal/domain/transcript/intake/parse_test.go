package intake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
)

func ExampleRead() {
	text := "[2026-03-01 09:00] Ann: Is the shop up?\n[2026-03-01 09:01] Bo: Yes.\nSince eight."
	result, err := intake.Read("call.txt", strings.NewReader(text), intake.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Report)
	for _, m := range result.Conversations[0].Messages {
		fmt.Printf("%d %s (%s) %q\n", m.Seq, m.Role, m.Name, m.Content)
	}
	// Output:
	// text · 1 conversation · 2 messages · 0 calls, 0 answered
	// 0 user (Ann) "Is the shop up?"
	// 1 assistant (Bo) "Yes.\nSince eight."
}

// parseAll reads an input of a detected format.
func parseAll(name string, r io.Reader, limit int64) ([]transcript.Conversation, error) {
	result, err := intake.Read(name, r, intake.Options{Limit: limit})
	return result.Conversations, err
}

func parse(t *testing.T, input string) []transcript.Conversation {
	t.Helper()
	conversations, err := parseAll("in.json", strings.NewReader(input), 0)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return conversations
}

// shape returns a conversation as one readable line.
func shape(c transcript.Conversation) string {
	var parts []string
	for i, m := range c.Messages {
		text := fmt.Sprintf("%s:%s", m.Role, m.Content)
		if m.Seq != i {
			text = fmt.Sprintf("SEQ %d ", m.Seq) + text
		}
		for _, call := range m.ToolCalls {
			text += "→" + call.Name + call.Arguments
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " | ")
}

func TestParseReadsChatFormats(t *testing.T) {
	const hello = `{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}`
	lines := strings.Replace(hello, "},{", "}\n{", 1)
	for name, c := range map[string]struct {
		input string
		want  []string
	}{
		"array of messages":    {"[" + hello + "]", []string{"user:hi | assistant:yes"}},
		"object with messages": {`{"model":"x","messages":[` + hello + `]}`, []string{"user:hi | assistant:yes"}},
		"lines of messages":    {lines + "\n", []string{"user:hi | assistant:yes"}},
		"array of objects": {`[{"messages":[` + hello + `]},{"messages":[{"role":"user","content":"2"}]}]`,
			[]string{"user:hi | assistant:yes", "user:2"}},
		"lines of objects": {`{"messages":[` + hello + `]}` + "\n" +
			`{"messages":[{"role":"user","content":"2"}]}`, []string{"user:hi | assistant:yes", "user:2"}},
		"array of arrays": {`[[` + hello + `],[{"role":"user","content":"2"}]]`,
			[]string{"user:hi | assistant:yes", "user:2"}},
		"byte order mark": {"\ufeff[" + hello + "]", []string{"user:hi | assistant:yes"}},
		"parts": {`[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url",` +
			`"image_url":{}},{"type":"input_audio"},"bare"]}]`, []string{"user:see\n[image]\n[audio]\nbare"}},
		"roles of other interfaces": {`[{"role":"developer","content":"a"},{"role":"function","name":"f",` +
			`"content":"b"},{"role":"Human","content":"c"}]`, []string{"system:a | tool:b | user:c"}},
		"tool call with object": {`[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f",` +
			`"arguments":{"a": 1}}}]}]`, []string{`assistant:→f{"a":1}`}},
		"function call": {`[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]`,
			[]string{`assistant:→f{}`}},
		"NUL escaped in JSON": {`[{"role":"tool","content":"a\u0000b"}]`, []string{"tool:a\ufffdb"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, conversation := range parse(t, c.input) {
				got = append(got, shape(conversation))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestParseKeepsIdsNamesAndTimes(t *testing.T) {
	got := parse(t, `[{"id":"m1","role":"tool","name":"ls","tool_call_id":"c1","content":"x",`+
		`"ts":"2026-01-02T03:04:05Z"},
		{"id":2,"role":"user","content":"y","created_at":1767323045}]`)[0].Messages
	if got[0].ID != "m1" || got[0].Name != "ls" || got[0].ToolCallID != "c1" || got[1].ID != "2" {
		t.Errorf("ids and names are lost: %+v", got)
	}
	for _, m := range got {
		if m.Time.Format("2006-01-02 15:04:05 MST") != "2026-01-02 03:04:05 UTC" {
			t.Errorf("message %d: time %v", m.Seq, m.Time)
		}
	}
}

func TestParseReadsTauTrajectories(t *testing.T) {
	data, err := os.ReadFile("testdata/tau-bench/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseAll("runs/tau.json", bytes.NewReader(data), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := `system:# Policy | user:Cancel my booking. | assistant:→cancel{"id": "B1"} | tool:cancelled | ` +
		`assistant:Done.`
	if len(got) != 2 || shape(got[0]) != want {
		t.Fatalf("got %+v", got)
	}
	if got[0].Title != "tau.json: task 7, trial 2" || got[0].Reward == nil || *got[0].Reward != 1 ||
		*got[1].Reward != 0 {
		t.Errorf("title %q, rewards %v %v", got[0].Title, got[0].Reward, got[1].Reward)
	}
	if call := got[0].Messages[2].ToolCalls[0]; call.ID != "call_1" || got[0].Messages[3].ToolCallID != call.ID {
		t.Errorf("the tool message no longer answers its call")
	}
}

func TestParseReadsPublicTauData(t *testing.T) {
	dir := os.Getenv("CAIRN_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "tau", "airline-train.json"))
	if err != nil {
		t.Skipf("public data is absent, set CAIRN_DATA: %v", err)
	}
	defer file.Close()
	got, err := parseAll("airline-train.json", file, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	tools := 0
	for _, c := range got {
		ids[c.ID] = true
		for _, m := range c.Messages {
			if m.Role == transcript.Tool {
				tools++
			}
		}
	}
	if len(got) != 160 || len(ids) != 160 || tools != 1039 {
		t.Errorf("%d conversations, %d ids, %d tool messages", len(got), len(ids), tools)
	}
}

func TestConversationIDComesFromTheMessages(t *testing.T) {
	const one = `[{"role":"user","content":"hi"}]`
	a, _ := parseAll("a.json", strings.NewReader(one), 0)
	b, _ := parseAll("b.txt", strings.NewReader("user: hi"), 0)
	if a[0].ID != b[0].ID || len(a[0].ID) != 32 {
		t.Errorf("same messages, ids %s and %s", a[0].ID, b[0].ID)
	}
	if c := parse(t, `[{"role":"user","content":"hi!"}]`); c[0].ID == a[0].ID {
		t.Errorf("other messages, same id")
	}
	twice := parse(t, "["+one+","+one+"]")
	if twice[0].ID != a[0].ID || twice[1].ID == a[0].ID {
		t.Errorf("a repetition must have its own id and leave the first alone: %v", twice)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`[{"role":"user","content":"hi"}]`, "user: hi\nassistant: ho",
		"[10:00] A: x\n```\nB: y",
		`{"traj":[{"role":"tool","content":[{"type":"text"}]}],"task_id":"x"}`, `{"messages":`, "{}\n[]", "user：\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		conversations, err := parseAll("f", strings.NewReader(input), 1<<16)
		if err != nil {
			return
		}
		for _, c := range conversations {
			if len(c.Messages) == 0 || c.ID == "" {
				t.Fatalf("%q: a conversation without messages or id", input)
			}
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
		}
	})
}
