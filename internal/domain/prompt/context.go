package prompt

import (
	"fmt"
	"strings"
	"time"
)

// Moment holds facts at the start of a turn. They are not part of the session's prompt, which must
// stay the same from turn to turn.
type Moment struct {
	Now      time.Time // in the workspace's time zone
	Zone     string    // IANA name of the time zone
	Changed  []string  // skills that are new or changed since the session was frozen
	Approved []string  // skills whose pending change was approved since the previous turn
	Rejected []string  // skills whose pending change was rejected since the previous turn
	Memories int       // number of decided pending changes of memories
	Identity string    // of the agent that replies from long-term memory, if it has changed
	Meta     string    // targets with memories, if they have changed
}

const contextOpen, contextClose = "<context>\n", "</context>\n"

// shownNames is the number of skills that a notice names.
const shownNames = 5

// Context returns a block that precedes the user's text in the same message. Equal moments give
// equal bytes.
func Context(lang string, m Moment) string {
	zh := language(lang) == "zh"
	var out strings.Builder
	out.WriteString(contextOpen)
	if zh {
		weekdays := []string{"星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"}
		fmt.Fprintf(&out, "现在：%s %s %s（%s，UTC%s）。\n", m.Now.Format("2006年1月2日"), weekdays[m.Now.Weekday()],
			m.Now.Format("15:04"), m.Zone, m.Now.Format("-07:00"))
	} else {
		fmt.Fprintf(&out, "It is %s (%s, UTC%s).\n", m.Now.Format("Monday, 2 January 2006, 15:04"), m.Zone,
			m.Now.Format("-07:00"))
	}
	line := func(names []string, en, han string) {
		if len(names) > 0 {
			fmt.Fprintf(&out, pick(zh, han, en)+"\n", nameList(names, zh))
		}
	}
	line(m.Changed, "New or changed since the index of skills was read: %s.", "技能索引读取之后新增或改动的技能：%s。")
	line(m.Approved, "A person has approved the proposed change of: %s.", "已获批准的技能改动：%s。")
	line(m.Rejected, "A person has rejected the proposed change of: %s. Do not propose it again unasked.",
		"被拒绝的技能改动：%s。未经要求不要再次提出。")
	if m.Memories > 0 {
		fmt.Fprintf(&out, pick(zh, "有 %d 项提议的记忆改动已有人处理。\n",
			"A person has decided about %d proposed changes of memory.\n"), m.Memories)
	}
	if m.Identity != "" {
		fmt.Fprintf(&out, "<identity>\n%s\n</identity>\n", harmless(m.Identity))
	}
	if m.Meta != "" {
		fmt.Fprintf(&out, "%s\n%s\n", pick(zh, "现在有记忆的对象：", "There are memories about these targets now:"),
			harmless(m.Meta))
	}
	out.WriteString(contextClose)
	return out.String()
}

// harmless escapes text that could end its surrounding block.
func harmless(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, strings.TrimSpace(contextClose), ""))
}

func nameList(names []string, zh bool) string {
	shown := names[:min(len(names), shownNames)]
	text := strings.Join(shown, pick(zh, "、", ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(pick(zh, "，另有 %d 项", ", and %d more"), more)
	}
	return text
}

// WithoutContext returns the user's text of a message without the block of Context.
func WithoutContext(message string) string {
	rest, found := strings.CutPrefix(message, contextOpen)
	if !found {
		return message
	}
	_, said, found := strings.Cut(rest, "\n"+contextClose)
	if !found {
		return message
	}
	return said
}
