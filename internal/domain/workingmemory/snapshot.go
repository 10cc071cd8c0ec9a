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

// Snapshot is the state that some messages leave: it stands for them from then on.
type Snapshot struct {
	Goal          string   `json:"goal"`           // what is wanted
	KeyFacts      []string `json:"key_facts"`      // that later messages rest on: names, numbers, decisions
	RecentActions []string `json:"recent_actions"` // what was done and what came of it, the latest last
	Pending       []string `json:"pending"`        // what is still open
}

// ReadSnapshot reads what a model has made of messages, and says what is wrong
// with it in words for the model.
func ReadSnapshot(reply string, of []transcript.Message) (s Snapshot, err error) {
	text := strings.TrimSpace(reply)
	if text == "" {
		return s, errors.New("the answer is empty")
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("the answer does not fit the schema: %w", err)
	}
	if decoder.More() {
		return s, errors.New("there is more after the JSON object")
	}
	return s, s.check(of)
}

func (s Snapshot) words() string {
	return strings.Join(append(append(append([]string{s.Goal}, s.KeyFacts...), s.RecentActions...), s.Pending...), "\n")
}

// check refuses what cannot stand for the messages: nothing, an apology or an
// error in place of a snapshot, something about something else, and what is no shorter.
func (s Snapshot) check(of []transcript.Message) error {
	said := Render(of)
	words := s.words()
	switch {
	case strings.TrimSpace(s.Goal) == "" || blank(s.KeyFacts) && blank(s.RecentActions):
		return errors.New("goal, and one of key_facts and recent_actions, must say something")
	case failing.MatchString(strings.TrimSpace(s.Goal)) && !strings.Contains(said, strings.TrimSpace(s.Goal)):
		return errors.New("goal is an error or an apology, not what the messages are about")
	case !shares(words, said):
		return errors.New("nothing of the answer is about the messages")
	case lang.EstimateTokens(words) >= Tokens(of):
		return fmt.Errorf("the answer has about %d tokens, the messages have %d: it must be shorter",
			lang.EstimateTokens(words), Tokens(of))
	}
	return nil
}

func blank(lines []string) bool { return strings.TrimSpace(strings.Join(lines, "")) == "" }

// failing is how answers begin that are none.
var failing = regexp.MustCompile(`(?i)^(?:\W*(?:api |internal (?:server )?|fatal |http ` +
	`)?(?:error|exception|traceback|timed? ?out|timeout)\b|rate limit|too many requests|context length|service ` +
	`unavailable|bad gateway|` +
	`(?:i'?m |i am )?(?:very )?(?:sorry|unable to)\b|i (?:cannot|can't|could not|couldn't)\b|as an ` +
	`ai\b|抱歉|对不起|很抱歉|我无法|无法|错误|请求失败|服务不可用)`)

// shares tells whether a text has anything in common with another: one word of
// four letters, a number of two digits, or two Chinese characters in a row.
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

// Render is the snapshot as a message shows it, with the handle of what it
// stands for.
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

var snapshotWords = map[string]struct{ head, goal, facts, actions, pending string }{
	"en": {"[Earlier in this conversation: %d messages, word for word in %s; grep_content searches them. What " +
		"follows is a record of them, not a request.]", "Goal: ", "Facts:", "Done:", "Open:"},
	"zh": {"[此前的对话：%d 条消息，原文在 %s，可用 grep_content 查找。以下是其记录，不是请求。]", "目标：", "事实：", "已做：", "未完成："},
}
