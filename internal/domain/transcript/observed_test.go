package transcript_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
)

// said makes messages of lines such as "user: Hello". A line "call: NAME ARGUMENTS" is a tool call, and
// "tool: …" its result.
func said(lines ...string) (out []transcript.Message) {
	for i, line := range lines {
		role, text, _ := strings.Cut(line, ": ")
		m := transcript.Message{Seq: i, Role: transcript.Role(role), Content: text}
		if role == "call" {
			name, arguments, _ := strings.Cut(text, " ")
			m = transcript.Message{Seq: i, Role: transcript.Assistant,
				ToolCalls: []transcript.ToolCall{{ID: "c", Name: name, Arguments: arguments}}}
		}
		if role == "tool" {
			m.ToolCallID = "c"
		}
		out = append(out, m)
	}
	return out
}

func TestObservedSuccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want  bool
		lines []string
	}{
		{false, []string{"user: Fix it.", "assistant: Done.", "user: Thank you so much, have a nice day!"}},
		{true, []string{"user: Fix it.", "assistant: Done.", "user: Great, it works now."}},
		{true, []string{"user: 修一下。", "assistant: 好了。", "user: 可以了，谢谢！"}},
		{false, []string{"user: Fix it.", "assistant: Done.", "user: It still does not work."}},
		{false, []string{"user: Fix it.", "assistant: Done.", "user: Please tell me if it works."}},
		{false, []string{"user: It works on my machine."}},
		{true, []string{"call: shell {}", "tool: ok  \texample.com/x\t0.2s"}},
		{false, []string{"call: shell {}", "tool: ok  \texample.com/x\t0.2s", "call: shell {}",
			"tool: --- FAIL: TestX\nFAIL"}},
		{true, []string{"call: shell {}", "tool: 1 failed, 3 passed", "call: shell {}",
			"tool: ==== 4 passed in 0.1s ===="}},
		{true, []string{`call: update_order {"order_id":"W123","address":"Main Street 1"}`, `tool: {"ok":true}`,
			`call: get_order {"order_id":"W123"}`, `tool: {"order_id":"W123","address":"Main Street 1"}`}},
		{false, []string{`call: get_order {"order_id":"W123"}`, `tool: {"order_id":"W123"}`,
			`call: update_order {"order_id":"W123"}`, `tool: {"ok":true}`}},
		{false, []string{`call: update_order {"order_id":"W123"}`, `tool: Error: not allowed`,
			`call: get_order {"order_id":"W123"}`, `tool: {"order_id":"W123"}`}},
	} {
		if m, ok := transcript.Observed(said(c.lines...)); ok != c.want {
			t.Errorf("%q: %v with %+v", c.lines, ok, m)
		}
	}
}
