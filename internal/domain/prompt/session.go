package prompt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
)

// SessionContext is the workspace's part of a session's prompt. Each text is sanitized and in a
// deterministic order.
type SessionContext struct {
	Soul    string
	Profile []Fact
	Core    []Fact
	Skills  string // the index of skills, one line each

	// Set for an agent that replies from long-term memory:
	Identity string // its self-description
	Meta     string // the targets with memories, one line each
}

// Fact is a memory with its provenance.
type Fact struct {
	Text   string
	Origin string // who wrote it, a value of agent.Origin; empty if unknown
}

// Entries returns all memories of the prompt.
func (r SessionContext) Entries() (out []string) {
	for _, f := range slices.Concat(r.Profile, r.Core) {
		out = append(out, f.Text)
	}
	return out
}

// sources are the words for the origin of a memory.
var sources = map[string]map[string]string{
	"en": {"user": "set by the person", "agent": "noted in a conversation", "nudge": "noted by a review",
		"reflection": "noted by a review", "distill": "drawn from a conversation", "designer": "noted by a review",
		"import": "imported"},
	"zh": {"user": "对方设定", "agent": "对话中记下", "nudge": "复盘时记下", "reflection": "复盘时记下", "distill": "从对话中提取",
		"designer": "复盘时记下", "import": "导入"},
}

// SkillLines returns the lines of the index as candidates for a review.
func (r SessionContext) SkillLines() (out []Candidate) {
	for line := range strings.Lines(r.Skills) {
		name, description, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": ")
		if ok && strings.HasPrefix(strings.TrimSpace(line), "- ") {
			out = append(out, Candidate{Name: name, Description: description})
		}
	}
	return out
}

// Session returns the system message of a channel for the lifetime of a session. It contains
// nothing that changes from turn to turn; Context returns that.
func Session(lang, channel string, known SessionContext) (string, error) {
	known = known.inPlace(language(lang))
	return render(lang, "session", struct {
		SessionContext
		Channel string
		Nothing bool
	}{known, channel, known.Soul == "" && len(known.Profile) == 0 && len(known.Core) == 0 && known.Skills == ""})
}

// inPlace sanitizes the texts: a soul cannot end its fence, and an entry of several lines cannot
// start a heading or another entry. It adds the provenance of the entries.
func (r SessionContext) inPlace(lang string) SessionContext {
	r.Soul, r.Identity = fences.ReplaceAllString(r.Soul, ""), fences.ReplaceAllString(r.Identity, "")
	items := func(in []Fact) (out []Fact) {
		for _, f := range in {
			out = append(out, Fact{strings.ReplaceAll(f.Text, "\n", "\n  "), sources[lang][f.Origin]})
		}
		return out
	}
	r.Profile, r.Core = items(r.Profile), items(r.Core)
	return r
}

// Remembered returns the prompt memories that a system message of Session contains, without their sources. Everything
// else in it is an instruction.
func Remembered(system string) (out []string) {
	inside, fenced := false, false
	for line := range strings.Lines(system) {
		line = strings.TrimRight(line, "\n")
		switch at := slices.IndexFunc(marks, func(m mark) bool { return strings.HasPrefix(line, m.opening) }); {
		case line == "<style>" || line == "</style>":
			fenced = line == "<style>"
		case fenced:
		case slices.Contains(lastHeadings, line): // what a client appends is no memory
			return out
		case at >= 0:
			inside = marks[at].name == "profile" || marks[at].name == "core"
		case inside && strings.HasPrefix(line, "- "):
			out = append(out, withoutSource(strings.TrimPrefix(line, "- ")))
		case inside && strings.HasPrefix(line, "  ") && len(out) > 0:
			out[len(out)-1] += "\n" + withoutSource(strings.TrimPrefix(line, "  "))
		}
	}
	return out
}

// withoutSource removes the source at the end of a line of a memory.
func withoutSource(line string) string {
	for _, words := range sources {
		for _, source := range words {
			if text, found := strings.CutSuffix(line, " ["+source+"]"); found {
				return text
			}
		}
	}
	return line
}

// fences matches the tags around a soul and an identity.
var fences = regexp.MustCompile(`(?i)<\s*/?\s*(?:style|identity)\b[^>]*>`)

// Nudge returns the system message of a review of memories, of skills, or of both.
func Nudge(lang string, memory, skill bool) (string, error) {
	return render(lang, "nudge", struct{ Memory, Skill bool }{memory, skill})
}

// Reflection returns the system message of the reflection on a day.
func Reflection(lang string, calls int) (string, error) {
	return render(lang, "reflection", struct{ Calls int }{calls})
}

// Flush returns the system message of the review before a compaction.
func Flush(lang string, calls int) (string, error) {
	return render(lang, "flush", struct{ Calls int }{calls})
}

func render(lang, name string, data any) (string, error) {
	own := language(lang)
	var out strings.Builder
	if err := templates[own].ExecuteTemplate(&out, name+"."+own+".md", data); err != nil {
		return "", fault.Wrap(err, fault.Internal, "render the prompt "+name, "")
	}
	return strings.TrimSpace(out.String()), nil
}

// language returns the supported language for lang.
func language(lang string) string {
	if strings.HasPrefix(strings.ToLower(lang), "zh") {
		return "zh"
	}
	return "en"
}

// LastCall returns the text that demands the final reply without tools.
func LastCall(lang, channel string) string {
	if language(lang) == "zh" {
		return "现在请根据已知内容给出最终答复：不会再执行任何工具。说明哪些已完成、哪些还没有。" + pick(channel == "voice", "用一两句口语。", "")
	}
	return "Give your final answer now, from what is known: no tool will run any more. Say what is done and what is " +
		"still open." + pick(channel == "voice", " One or two spoken sentences.", "")
}

// Checkpoint returns the text that states how many responses a model has left after the current
// one. It is for turns that no person waits for.
func Checkpoint(lang string, left int) string {
	if language(lang) == "zh" {
		return fmt.Sprintf("这一次之后还可以回应 %d 次。先完成最重要的部分，并留出一次给最终答复。", left)
	}
	return fmt.Sprintf("After this response you have %d left. Finish what matters most, and keep one for the final "+
		"answer.", left)
}

// IsNote reports whether the text of a message is an instruction that this package has written: the one of LastCall
// or of Checkpoint. Such a message has the role of a user, and no user has written it.
func IsNote(text string) bool {
	for lang := range templates {
		if text == LastCall(lang, "") || text == LastCall(lang, "voice") {
			return true
		}
		before, after, _ := strings.Cut(Checkpoint(lang, 0), "0")
		rest, opens := strings.CutPrefix(text, before)
		number, closes := strings.CutSuffix(rest, after)
		if _, err := strconv.Atoi(number); opens && closes && err == nil {
			return true
		}
	}
	return false
}

// Canned returns the reply that replaces a model's: the reason, what was done, and how to continue.
// reason is a value of agent.Reason.
func Canned(lang, channel, reason string, done []string) string {
	words := cannedWords[language(lang)]
	text := words[reason]
	if text == "" {
		text = words["budget"]
	}
	if len(done) > 0 && channel != "voice" {
		text += " " + fmt.Sprintf(words["done"], strings.Join(done, ", "))
	}
	if reason != "interrupted" {
		text += " " + pick(channel == "sms", words["sms"], pick(channel == "voice", words["voice"], words["next"]))
	}
	return strings.TrimSpace(text)
}

var cannedWords = map[string]map[string]string{
	"en": {
		"budget":         "I could not finish this within the steps that I have.",
		"wall_clock":     "I could not finish this in time.",
		"interrupted":    "I have stopped, as asked.",
		"provider_error": "I cannot answer just now: the model that I use does not respond.",
		"lost":           "I could not answer this: my work on it stopped several times.",
		"guardrail":      "I got no further: the same step kept giving the same result.",
		"over_budget":    "I cannot answer any more today: this workspace's budget is spent.",
		"done":           "Done so far: %s.",
		"sms":            "Reply CONTINUE and I will go on.",
		"voice":          "Shall I send you the rest as a text message?",
		"next":           "Write again and I will go on from here.",
	},
	"zh": {
		"budget":         "在允许的步数内我没能完成。",
		"wall_clock":     "我没能及时完成。",
		"interrupted":    "已按要求停止。",
		"provider_error": "我暂时无法答复：所用的模型没有响应。",
		"lost":           "我没能答复：处理多次中断。",
		"guardrail":      "没有进展：同一步骤总是得到同样的结果。",
		"over_budget":    "今天无法再答复：本工作区的预算已用完。",
		"done":           "已完成：%s。",
		"sms":            "回复“继续”，我会接着做。",
		"voice":          "要我把其余内容用短信发给您吗？",
		"next":           "再写一条消息，我会从这里接着做。",
	},
}

// Notice returns one line about the result of a review: the saved skills by name, the number of
// changed memories, and the number of pending changes.
func Notice(lang string, skills []string, memories, waiting int) string {
	zh := language(lang) == "zh"
	const shown = 3
	var saved []string
	for i, name := range skills {
		if i == shown {
			saved = append(saved, fmt.Sprintf("+%d", len(skills)-shown))
			break
		}
		saved = append(saved, pick(zh, "技能 ", "skill ")+name)
	}
	switch {
	case memories > 0 && zh:
		saved = append(saved, fmt.Sprintf("%d 条记忆", memories))
	case memories == 1:
		saved = append(saved, "1 memory")
	case memories > 1:
		saved = append(saved, fmt.Sprintf("%d memories", memories))
	}
	var said []string
	if len(saved) > 0 {
		said = append(said, pick(zh, "已保存："+strings.Join(saved, "、"), "Saved: "+strings.Join(saved, ", ")))
	}
	if waiting > 0 {
		said = append(said, pick(zh, fmt.Sprintf("%d 项改动等待批准", waiting),
			fmt.Sprintf("Waiting for approval: %d", waiting)))
	}
	return pick(zh, "（"+strings.Join(said, "；")+"）", "("+strings.Join(said, ". ")+")")
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
