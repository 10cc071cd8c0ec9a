package transcript

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Observed returns the message that shows that the work of a conversation succeeded, for a conversation
// whose outcome is not stated: the last run of its tests passed, the last write was read back, or the
// person said that it works. Thanks alone show nothing.
func Observed(ms []Message) (m Message, ok bool) {
	if m, passed, ran := lastTestRun(ms); ran {
		return m, passed
	}
	if m, ok := readBack(ms); ok {
		return m, true
	}
	return confirmation(ms)
}

var (
	// testPassed and testFailed match the summaries of go test, pytest, jest, cargo and Maven.
	testPassed = regexp.MustCompile(
		`(?m)^ok\s+\S+\s|^PASS$|\b\d+ passed\b|^Tests:.*\bpassed\b|test result: ok|BUILD SUCCESS\b`,
	)
	testFailed = regexp.MustCompile(
		`(?m)^FAIL\b|^--- FAIL|\b[1-9]\d* (?:failed|errors?)\b|test result: FAILED|BUILD FAILURE\b`,
	)
)

// lastTestRun returns the last result of a tool with the summary of a test run.
func lastTestRun(ms []Message) (m Message, passed, ran bool) {
	for _, m := range slices.Backward(ms) {
		if m.Role != Tool {
			continue
		}
		failed := testFailed.MatchString(m.Content)
		if !failed && !testPassed.MatchString(m.Content) {
			continue
		}
		return m, !failed && !m.IsError && (m.ExitCode == nil || *m.ExitCode == 0), true
	}
	return m, false, false
}

var (
	// readVerb matches the names of tools that change nothing.
	readVerb = regexp.MustCompile(
		`(?i)^(?:\w+[._-])?(?:get|read|list|search|find|view|show|check|verify|describe|status|` +
			`fetch|query|look_?up|inspect|validate|test|calculate|think|grep|glob|cat|ls)(?:[A-Z_.-]|$)`,
	)
	// failedResult matches the beginning of a result that reports an error.
	failedResult = regexp.MustCompile(`(?i)^\W*(?:error|failed|failure|exception|traceback|错误|失败)\b`)
)

// changes reports whether a call changes something.
func (c ToolCall) changes() bool { return !readVerb.MatchString(c.Name) }

// readBack returns the result of a call that read what the last successful write had written: it follows
// the write and contains a value of its arguments.
func readBack(ms []Message) (Message, bool) {
	calls := map[string]ToolCall{}
	var values []string // of the last write
	var found Message
	ok := false
	for _, m := range ms {
		for _, c := range m.ToolCalls {
			calls[c.ID] = c
		}
		if m.Role != Tool {
			continue
		}
		call, known := calls[m.ToolCallID]
		if !known {
			call = ToolCall{Name: m.Name}
		}
		switch failed := m.failed(); {
		case call.changes() && failed:
			values, ok = nil, false // the last write did not succeed
		case call.changes():
			values, ok = argumentValues(call.Arguments), false
		case !failed && slices.ContainsFunc(values, func(v string) bool { return strings.Contains(m.Content, v) }):
			found, ok = m, true
		}
	}
	return found, ok
}

// argumentValues returns the texts and numbers of a call's arguments that are long enough to recognize.
func argumentValues(arguments string) (out []string) {
	const shortest = 4
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) >= shortest {
				out = append(out, v)
			}
		case json.Number:
			if len(v) >= shortest {
				out = append(out, string(v))
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var parsed any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&parsed) == nil {
		walk(parsed)
	}
	return out
}

var (
	works = regexp.MustCompile(
		`(?i)\b(?:it|that|this|everything|all|now)\b[^.!?\n]{0,30}\b(?:works?|worked|working|fixed|` +
			`solved|resolved|passes|green|correct)\b|\b(?:lgtm|works (?:now|again|fine|perfectly|great))\b|` +
			`可以了|好用了|成功了|解决了|修好了|没问题了|搞定了`,
	)
	worksNot = regexp.MustCompile(
		`(?i)\b(?:not|never|n't|no longer|still|unless|if|should|would|will|does it|is it|until|` +
			`please|can you)\b|n't\b|没有?(?:成功|解决)|不(?:行|对|能)|还是|如果|请`,
	)
)

// confirmation returns the last message of a person if it says that the work succeeded.
func confirmation(ms []Message) (Message, bool) {
	worked := false
	for _, m := range ms {
		worked = worked || m.Role == Assistant
	}
	for _, m := range slices.Backward(ms) {
		if m.FromHuman() && strings.TrimSpace(m.Content) != "" {
			for sentence := range strings.FieldsFuncSeq(m.Content, func(r rune) bool {
				return strings.ContainsRune(".!?\n。！？", r)
			}) {
				if worked && works.MatchString(sentence) && !worksNot.MatchString(sentence) {
					return m, true
				}
			}
			return Message{}, false
		}
	}
	return Message{}, false
}
