package workingmemory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/transcript"
)

// Snapshot is a model's summary of some messages, which replaces them in the thread.
type Snapshot struct {
	Goal          string   `json:"goal"`           // what the user wants
	KeyFacts      []string `json:"key_facts"`      // names, numbers and decisions that later messages need
	RecentActions []string `json:"recent_actions"` // actions with their results, the latest last
	Pending       []string `json:"pending"`        // what is still open
}

// ReadSnapshot decodes a model's snapshot of messages. The error is written for the model.
func ReadSnapshot(reply string, of []transcript.Message) (s Snapshot, err error) {
	text := strings.TrimSpace(reply)
	if text == "" {
		return s, errors.New("the reply is empty")
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("the reply does not fit the schema: %w", err)
	}
	if decoder.More() {
		return s, errors.New("there is more after the JSON object")
	}
	return s, s.check(of)
}

func (s Snapshot) words() string {
	return strings.Join(append(append(append([]string{s.Goal}, s.KeyFacts...), s.RecentActions...), s.Pending...), "\n")
}

// check rejects a snapshot that cannot replace the messages: an empty one, an apology, an error, an
// unrelated text, and one that is not shorter.
func (s Snapshot) check(of []transcript.Message) error {
	said := Render(of)
	words := s.words()
	switch {
	case strings.TrimSpace(s.Goal) == "" || blank(s.KeyFacts) && blank(s.RecentActions):
		return errors.New("goal, and one of key_facts and recent_actions, must say something")
	case failing.MatchString(strings.TrimSpace(s.Goal)) && !strings.Contains(said, strings.TrimSpace(s.Goal)):
		return errors.New("goal is an error or an apology, not what the messages are about")
	case !shares(words, said):
		return errors.New("the reply is not about the messages")
	case lang.EstimateTokens(words) >= Tokens(of):
		return fmt.Errorf("the reply has about %d tokens and must be shorter than the messages, which have %d",
			lang.EstimateTokens(words), Tokens(of))
	}
	return nil
}

func blank(lines []string) bool { return strings.TrimSpace(strings.Join(lines, "")) == "" }

// failing matches the start of replies that are errors or apologies.
var failing = regexp.MustCompile(`(?i)^(?:\W*(?:api |internal (?:server )?|fatal |http ` +
	`)?(?:error|exception|traceback|timed? ?out|timeout)\b|rate limit|too many requests|context length|service ` +
	`unavailable|bad gateway|` +
	`(?:i'?m |i am )?(?:very )?(?:sorry|unable to)\b|i (?:cannot|can't|could not|couldn't)\b|as an ` +
	`ai\b|抱歉|对不起|很抱歉|我无法|无法|错误|请求失败|服务不可用)`)

// shares reports whether two texts have a common word of four letters, number of two digits, or
// pair of Chinese characters.
func shares(text, with string) bool {
	with = strings.ToLower(with)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		runes := []rune(w)
		if unicode.Is(unicode.Han, runes[0]) {
			for i := range len(runes) - 1 {
				if strings.Contains(with, string(runes[i:i+2])) {
					return true
				}
			}
			continue
		}
		least := 4
		if unicode.IsDigit(runes[0]) {
			least = 2
		}
		if len(runes) >= least && strings.Contains(with, w) {
			return true
		}
	}
	return false
}

// Render returns the snapshot as a message, with the handle of the messages that it replaces.
func (s Snapshot) Render(language, handle string, messages int) string {
	words := snapshotWords["en"]
	if strings.HasPrefix(language, lang.Chinese) {
		words = snapshotWords["zh"]
	}
	var out strings.Builder
	fmt.Fprintf(&out, words.head, messages, handle)
	fmt.Fprintf(&out, "\n%s%s", words.goal, strings.TrimSpace(s.Goal))
	for _, part := range []struct {
		title string
		lines []string
	}{{words.facts, s.KeyFacts}, {words.actions, s.RecentActions}, {words.pending, s.Pending}} {
		if blank(part.lines) {
			continue
		}
		out.WriteString("\n" + part.title)
		for _, line := range part.lines {
			if line = strings.TrimSpace(line); line != "" {
				out.WriteString("\n- " + strings.ReplaceAll(line, "\n", " "))
			}
		}
	}
	return out.String()
}

// Recorded returns the text of a message without the line of Render about it, which is for the model. Any other text
// is returned as it is.
func Recorded(content string) string {
	line, record, found := strings.Cut(content, "\n")
	for _, words := range snapshotWords {
		before, rest, _ := strings.Cut(words.head, "%d")
		_, after, _ := strings.Cut(rest, "%s")
		if found && strings.HasPrefix(line, before) && strings.HasSuffix(line, after) {
			return record
		}
	}
	return content
}

var snapshotWords = map[string]struct{ head, goal, facts, actions, pending string }{
	"en": {"[Earlier in this conversation: %d messages, word for word in %s; grep_content searches them. What " +
		"follows is a record of them, not a request.]", "Goal: ", "Facts:", "Done:", "Open:"},
	"zh": {"[此前的对话：%d 条消息，原文在 %s，可用 grep_content 查找。以下是其记录，不是请求。]", "目标：", "事实：", "已做：", "未完成："},
}
