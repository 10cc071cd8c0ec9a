package transcript_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
)

// messages returns a conversation with one message for each letter: u, a, t, s, or e for an empty
// message of the assistant.
func messages(letters string) []transcript.Message {
	var list []transcript.Message
	for i, letter := range letters {
		m := transcript.Message{Seq: i, Content: "OK"}
		switch letter {
		case 'u':
			m.Role = transcript.User
		case 'a':
			m.Role = transcript.Assistant
		case 't':
			m.Role = transcript.Tool
		case 's':
			m.Role = transcript.System
		case 'e':
			m.Role, m.Content = transcript.Assistant, ""
		}
		list = append(list, m)
	}
	return list
}

func TestGateDecides(t *testing.T) {
	for name, c := range map[string]struct {
		gate     transcript.Gate
		messages string
		flag     string
		pass     bool
		reason   string
	}{
		"auto, five identical tool messages": {transcript.Gate{}, "uttttt", "", true, "5 ≥ 5 tool messages"},
		"auto, six messages, both sides": {transcript.Gate{}, "uauaua", "auto", true,
			"6 ≥ 6 messages with both sides"},
		"auto, six messages, one side":  {transcript.Gate{}, "uuuuuu", "", false, "only one side"},
		"auto, five messages":           {transcript.Gate{}, "uauau", "", false, "5 < 6 messages"},
		"auto, empty ones do not count": {transcript.Gate{}, "uauaue", "", false, "5 < 6 messages"},
		"auto, own thresholds": {transcript.Gate{MinToolMessages: 1, MinMessages: 50}, "ut", "", true,
			"1 ≥ 1 tool"},
		"memos, four tool messages": {transcript.Gate{Policy: transcript.GateMemos}, "utatatataua", "", false,
			"4 < 5 tool messages"},
		"memos, five tool messages": {transcript.Gate{Policy: transcript.GateMemos}, "uttttt", "", true,
			"5 ≥ 5"},
		"off": {transcript.Gate{Policy: transcript.GateOff}, "u", "", true, "off"},
		"off, but nothing was said": {transcript.Gate{Policy: transcript.GateOff}, "e", "", false,
			"no messages"},
		"always wins": {transcript.Gate{Policy: transcript.GateMemos}, "u", "always", true,
			"request says always"},
		"never wins": {transcript.Gate{Policy: transcript.GateOff}, "uttttt", "never", false,
			"request says never"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.gate.Decide(messages(c.messages), c.flag)
			if got.Pass != c.pass || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %+v, want pass %v because %q", got, c.pass, c.reason)
			}
		})
	}
}

func TestGateReportsCounts(t *testing.T) {
	got := transcript.Gate{}.Decide(messages("suattae"), "")
	want := transcript.Decision{Messages: 6, Tools: 2, Users: 1, Assistants: 2, Pass: true,
		Reason: "6 ≥ 6 messages with both sides"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
