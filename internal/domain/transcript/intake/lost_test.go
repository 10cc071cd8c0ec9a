package intake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
)

// noText are members that are not texts of a session, by the last part of their path. What they
// hold is counted, or describes the file.
var noText = map[string]bool{"type": true, "role": true, "uuid": true, "parentUuid": true, "timestamp": true,
	"status": true, "version": true, "userType": true, "cwd": true, "requestId": true, "subtype": true,
	"logicalParentUuid": true, "trigger": true, "signature": true, "encrypted_content": true, "object": true,
	"messageId": true, "lastPrompt": true, "originator": true, "cli_version": true, "source": true,
	"approval_policy": true, "content_type": true, "recipient": true, "from": true, "lc": true, "commandMode": true,
	"media_type": true, "mimeType": true, "projectHash": true, "startTime": true, "lastUpdated": true, "kind": true,
	"created_at": true, "checkpoint_id": true, "language": true, "parent": true, "children": true, "current_node": true,
	"source_analysis_msg_id": true, "$rewindTo": true, "data": true, "stop_reason": true, "toolUseResult": true,
	"ts": true, "url": true, "sourceToolAssistantUUID": true, "agentId": true, "leafUuid": true,
	"trajectory_format": true, "schema_version": true, "key": true, "finish_reason": true, "parentObservationId": true,
	"endTime": true}

// walk calls fn with the strings of a JSON value and their paths.
func walk(value any, path []string, fn func(path []string, text string)) {
	switch v := value.(type) {
	case string:
		fn(path, v)
	case []any:
		for _, item := range v {
			walk(item, path, fn)
		}
	case map[string]any:
		for key, item := range v {
			walk(item, append(path[:len(path):len(path)], key), fn)
		}
	}
}

// documents decodes the values of an input with the standard library only.
func documents(t *testing.T, data []byte) (out []any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var v any
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
}

// kept returns everything of a result that a person can read.
func kept(result intake.Result) string {
	var b strings.Builder
	for _, c := range result.Conversations {
		b.WriteString(c.Title + "\n" + c.Session + "\n" + c.Parent + "\n")
		for _, m := range c.Messages {
			b.WriteString(line(m) + "\n")
		}
	}
	return b.String()
}

// left are the texts of a sample that its report counts as skipped, instead of keeping them, and IDs
// of what was skipped. A star stands for the rest of a text.
var left = map[string]string{
	"claude-code": "API Error: 529|Abandoned answer.|Conversation compacted|<synthetic>|err_1|msg_*|" +
		"agent_progress",
	"codex":            "Delete the tests.|Deleted.|completed|exec",
	"chatgpt":          "Yes.|Thought for 2s|n0|n2|n4|n5|n9|root",
	"gemini":           "Wrong question.|Request cancelled.|m3|m4",
	"langchain":        "Wrong.|cut|AIMessage|langchain|schema|messages|h9",
	"hermes":           "Old.|cli",
	"openai-responses": "completed|resp_1|fc_1|msg_1",
	"langgraph":        "agent|__start__",
	"tau-bench":        "u1",
	"anthropic":        "eHl6",
	"atif":             "x",
	"otel-genai":       "x|t1|s1|s2|s3|chat*|execute_tool*|text|tool_call|tool_call_response",
	"openinference":    "LLM|TOOL|llm|t1|s1|s2|text",
	"swe-agent":        "diff|2.4.6|Submitted|submitted|main|FAIL|I run the tests.\n```*",
	"openhands": "k|e5|TerminalAction|TerminalObservation|environment|" +
		"Running command*|Command executed.|execute_bash|message|agent_state_changed",
	"langfuse": "o1|o2|o3|tr-1|agent|quality",
	"litellm":  "r1|r2|acompletion",
}

func isLeft(format, text string) bool {
	for known := range strings.SplitSeq(left[format], "|") {
		start, open := strings.CutSuffix(known, "*")
		if text == known || open && strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// TestNothingIsLost compares each string of a sample, found by a walk of the raw JSON, with what was
// read. The strings that are missing must be counted as skipped, or describe the file.
func TestNothingIsLost(t *testing.T) {
	for path, data := range samples(t) {
		if formatOf(path) == intake.PlainText {
			continue
		}
		t.Run(path, func(t *testing.T) {
			result, err := intake.Read(filepath.Base(path), bytes.NewReader(data), intake.Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := kept(result)
			for _, v := range documents(t, data) {
				walk(v, nil, func(at []string, text string) {
					if len(at) > 0 && noText[at[len(at)-1]] || text == "" || found(all, text) {
						return
					}
					if isLeft(formatOf(path), text) {
						return
					}
					t.Errorf("%s: %q is lost", strings.Join(at, "/"), text)
				})
			}
		})
	}
}

// found reports whether a text was kept: as it is, or as the parts that markup divides.
func found(all, text string) bool {
	for _, part := range splitMarkup(text) {
		if part = strings.TrimSpace(part); part != "" && !strings.Contains(all, part) && !foundJSON(all, part) {
			return false
		}
	}
	return true
}

func splitMarkup(text string) []string {
	for _, mark := range []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>",
		"</tool_response>"} {
		text = strings.ReplaceAll(text, mark, "\x00")
	}
	return strings.Split(text, "\x00")
}

// foundJSON reports whether all strings of a JSON text were kept.
func foundJSON(all, text string) bool {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	ok := true
	walk(v, nil, func(at []string, text string) {
		ok = ok && (len(at) > 0 && noText[at[len(at)-1]] || strings.Contains(all, text))
	})
	return ok
}

// tallies counts calls, results and errors of a sample by its raw JSON, with nothing of the readers.
func tallies(t *testing.T, path string, data []byte) (calls, results, failed int) {
	t.Helper()
	var visit func(v any)
	visit = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, item := range x {
				visit(item)
			}
		case map[string]any:
			kind, _ := x["type"].(string)
			switch {
			case kind == "tool_use", kind == "server_tool_use":
				calls++
			case kind == "tool_result", kind == "web_search_tool_result":
				results++
				if x["is_error"] == true {
					failed++
				}
			}
			for _, item := range x {
				visit(item)
			}
		}
	}
	for _, v := range documents(t, data) {
		visit(v)
	}
	return calls, results, failed
}

func TestCallsResultsAndErrorsAreCountedOnBothSides(t *testing.T) {
	for path, data := range samples(t) {
		if f := formatOf(path); f != "anthropic" && f != "claude-code" {
			continue
		}
		result, err := intake.Read(filepath.Base(path), bytes.NewReader(data), intake.Options{})
		if err != nil {
			t.Fatal(err)
		}
		results := 0
		for _, c := range result.Conversations {
			for _, m := range c.Messages {
				if m.Role == transcript.Tool {
					results++
				}
			}
		}
		calls, answers, failed := tallies(t, path, data)
		if r := result.Report; r.Calls != calls || results != answers || r.Errors != failed {
			t.Errorf("%s: %d calls, %d results, %d errors; the file has %d, %d, %d", path, r.Calls, results, r.Errors,
				calls, answers, failed)
		}
	}
}
