package intake_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseReadsTextLines(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"roles": {"user: hi\nassistant: yes\ntool: ok\nsystem: s",
			"user:hi | assistant:yes | tool:ok | system:s"},
		"other spellings of roles": {"Human: a\nAI: b\nBot: c\nAgent: d",
			"user:a | assistant:b | assistant:c | assistant:d"},
		"Chinese roles": {"用户：你好\n助手：好的\n工具: ok\n系统：s", "user:你好 | assistant:好的 | tool:ok | system:s"},
		"continuation lines": {"user: a\n\n  b\nc\nassistant: d\r\ne\r\n",
			"user:a\n\n  b\nc | assistant:d\ne"},
		"two speakers":           {"Ann: a\nBo: b\nAnn: c", "user(Ann):a | assistant(Bo):b | user(Ann):c"},
		"three speakers":         {"Ann: a\nBo: b\nCy: c", "user(Ann):a | user(Bo):b | user(Cy):c"},
		"one speaker and a role": {"Ann: a\nbot: b", "user(Ann):a | assistant:b"},
		"time": {"[2026-01-02 10:00] Ann: a\n[10:05] Bo: b",
			"user(Ann)@2026-01-02T10:00:a | assistant(Bo):b"},
		"time of a phone": {"[1:56 pm on 8 May, 2023] Ann: a", "user(Ann)@2023-05-08T13:56:a"},
		"prose with a colon": {"user: a\nassistant: found it.\nCause: disk full\nhttp://x.org: see",
			"user:a | assistant:found it.\nCause: disk full\nhttp://x.org: see"},
		"notes are no one": {"Ann: a\nNote: b\nBo: c", "user(Ann):a\nNote: b | assistant(Bo):c"},
		"inside a code fence": {"user: a\n```yaml\nuser: root\n```\nassistant: b",
			"user:a\n```yaml\nuser: root\n``` | assistant:b"},
		"a fence that is never closed": {"user: a\n```\nassistant: b", "user:a\n``` | assistant:b"},
		"glued role":                   {"user:a\nassistant:b", "user:a | assistant:b"},
		"empty first line":             {"\n\nuser: a", "user:a"},
		"message without text":         {"user:\nassistant: b", "user: | assistant:b"},
	} {
		t.Run(name, func(t *testing.T) {
			conversations, err := parseAll("t.txt", strings.NewReader(c.input), 0)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, m := range conversations[0].Messages {
				text := string(m.Role)
				if m.Name != "" {
					text += "(" + m.Name + ")"
				}
				if !m.Time.IsZero() {
					text += "@" + m.Time.Format("2006-01-02T15:04")
				}
				parts = append(parts, fmt.Sprintf("%s:%s", text, m.Content))
			}
			if got := strings.Join(parts, " | "); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
