package intake_test

import (
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/transcript/intake"
)

// oneSession is the same session in several formats.
var oneSession = map[string]string{
	intake.OpenAIChat: `[{"role":"user","content":"Repair the test."},
 {"role":"assistant","content":"I run it.","tool_calls":[{"id":"c1","type":"function","function":{"name":"run",` +
		`"arguments":"{\"cmd\":\"go test\"}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"FAIL"},
 {"role":"assistant","content":"Repaired."},{"role":"user","content":"Thanks."}]`,
	"anthropic": `[{"role":"user","content":"Repair the test."},
 {"role":"assistant","content":[{"type":"text","text":"I run it."},{"type":"tool_use","id":"c1","name":"run",` +
		`"input":{"cmd": "go test"}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"FAIL"}]},
 {"role":"assistant","content":[{"type":"text","text":"Repaired."}]},{"role":"user","content":"Thanks."}]`,
	"claude-code": `{"parentUuid":null,"sessionId":"s","uuid":"1","type":"user","message":{"role":"user","content":"Repair the test."}}
{"parentUuid":"1","sessionId":"s","uuid":"2","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"I run it."}]}}
{"parentUuid":"2","sessionId":"s","uuid":"3","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"run","input":{"cmd":"go test"}}]}}
{"parentUuid":"3","sessionId":"s","uuid":"4","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"FAIL"}]}}
{"parentUuid":"4","sessionId":"s","uuid":"5","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"Repaired."}]}}
{"parentUuid":"5","sessionId":"s","uuid":"6","type":"user","message":{"role":"user","content":"Thanks."}}`,
	"codex": `{"timestamp":"2026-05-01T10:00:00Z","type":"session_meta","payload":{"id":"t"}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Repair the test."}]}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I run it."}]}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"function_call","name":"run","arguments":"{\"cmd\":\"go test\"}","call_id":"c1"}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"FAIL"}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Repaired."}]}}
{"timestamp":"2026-05-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks."}]}}`,
	"openai-responses": `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Repair the test."}]},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I run it."}]},
 {"type":"function_call","name":"run","arguments":"{\"cmd\":\"go test\"}","call_id":"c1"},
 {"type":"function_call_output","call_id":"c1","output":"FAIL"},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Repaired."}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks."}]}]}`,
	"langchain": `[{"type":"human","data":{"content":"Repair the test.","type":"human"}},
 {"type":"ai","data":{"content":"I run it.","type":"ai","tool_calls":[{"name":"run","args":{"cmd":"go test"},"id":"c1"}]}},
 {"type":"tool","data":{"content":"FAIL","type":"tool","tool_call_id":"c1"}},
 {"type":"ai","data":{"content":"Repaired.","type":"ai"}},{"type":"human","data":{"content":"Thanks.","type":"human"}}]`,
	"gemini": `{"contents":[{"role":"user","parts":[{"text":"Repair the test."}]},
 {"role":"model","parts":[{"text":"I run it."},{"functionCall":{"id":"c1","name":"run","args":{"cmd":"go test"}}}]},
 {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run","response":{"output":"FAIL"}}}]},
 {"role":"model","parts":[{"text":"Repaired."}]},{"role":"user","parts":[{"text":"Thanks."}]}]}`,
}

func TestOneSessionInSevenFormatsIsOneTranscript(t *testing.T) {
	want := strings.Join([]string{
		"user | Repair the test.", `assistant | I run it. | run#c1({"cmd":"go test"})`, "tool name=run #c1 | FAIL",
		"assistant | Repaired.", "user | Thanks."}, "\n")
	for format, input := range oneSession {
		result, err := intake.Read(filepath.Base(format), strings.NewReader(input), intake.Options{})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if result.Report.Format != format || len(result.Conversations) != 1 {
			t.Errorf("%s: read as %s, %d conversations", format, result.Report.Format, len(result.Conversations))
		}
		var lines []string
		for _, m := range result.Conversations[0].Messages {
			m.ID, m.Model = "", ""
			m.Time = m.Time.AddDate(-m.Time.Year()+1, -int(m.Time.Month())+1, -m.Time.Day()+1).Truncate(24 * 3600e9)
			lines = append(lines, line(m))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n%s", format, got)
		}
	}
}
