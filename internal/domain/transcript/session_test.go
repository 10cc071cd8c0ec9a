package transcript_test

import (
	"bytes"
	"testing"

	"cairn/internal/domain/transcript"
)

func TestSessionsAreIdentifiedByTheirAgent(t *testing.T) {
	key := func(format, session string) []byte {
		k, ok := transcript.Conversation{Format: format, Session: session}.SessionKey()
		if ok != (k != nil) {
			t.Errorf("%s %s: %x, %t", format, session, k, ok)
		}
		return k
	}
	if one := key("codex", "s1"); len(one) != 32 || !bytes.Equal(one, key("codex", "s1")) ||
		bytes.Equal(one, key("codex", "s2")) || bytes.Equal(one, key("claude-code", "s1")) {
		t.Errorf("the key is %x", one)
	}
	if key("codex", "") != nil || key("swe-agent", "django-1") != nil {
		t.Error("a file without a session, or with the ID of a task, has a key")
	}
}

func TestALaterVersionOfASessionBeginsWithAnEarlierOne(t *testing.T) {
	call := func(arguments string) transcript.Message {
		return transcript.Message{Role: transcript.Assistant,
			ToolCalls: []transcript.ToolCall{{ID: "1", Name: "ls", Arguments: arguments}}}
	}
	ask := transcript.Message{Role: transcript.User, Content: "list", ID: "a", Seq: 3}
	for name, c := range map[string]struct {
		earlier, later []transcript.Message
		want           bool
	}{
		"longer": {[]transcript.Message{ask},
			[]transcript.Message{{Role: transcript.User, Content: "list"}, call("a")}, true},
		"equal":       {[]transcript.Message{ask, call("a")}, []transcript.Message{ask, call("a")}, true},
		"shorter":     {[]transcript.Message{ask, call("a")}, []transcript.Message{ask}, false},
		"other call":  {[]transcript.Message{ask, call("a")}, []transcript.Message{ask, call("b")}, false},
		"other order": {[]transcript.Message{ask, call("a")}, []transcript.Message{call("a"), ask}, false},
	} {
		if got := transcript.Continues(c.earlier, c.later); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
