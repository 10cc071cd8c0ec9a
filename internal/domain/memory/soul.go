package memory

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Soul is a version of the user's reply preferences. Version 0 means none.
type Soul struct {
	Version   int        `json:"version"`
	Content   string     `json:"content"`
	Action    SoulAction `json:"action,omitempty"`
	Origin    string     `json:"origin,omitempty"`
	Run       string     `json:"run,omitempty"`
	Evidence  *Evidence  `json:"evidence,omitempty"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
}

// SoulAction is the change that created a version.
type SoulAction string

const (
	SoulReplace  SoulAction = "replace"
	SoulAppend   SoulAction = "append"
	SoulRollback SoulAction = "rollback"
)

// roleHeader matches a line that a prompt could confuse with the start of another speaker's
// message.
var roleHeader = regexp.MustCompile(`(?i)^[\s>#*_\-\[<|/]*(?:im_start|im_end|start_header_id|inst\]|sys>>` +
	`|(?:(?:system|assistant|developer|user|human|tool|function|ai)(?:[ ` +
	`_-](?:message|prompt|instructions?|role))?|系统|助手|用户|工具|开发者)[*_\s]*(?:[:：]|\|?>|\]))`)

// roleHeading matches a heading that consists of a role only.
var roleHeading = regexp.MustCompile(`(?i)^\s*#{1,6}\s*(?:system|assistant|developer|user|human|tool|系统|助手|用户)(?:[ ` +
	`_-](?:message|prompt|instructions?))?\s*#*\s*$`)

// CleanSoul returns a soul in the form that is stored, without lines that imitate the header of a
// role. stripped is the number of removed lines.
func CleanSoul(text string) (content string, stripped int) {
	var kept []string
	for line := range strings.SplitSeq(clean(text), "\n") {
		if roleHeader.MatchString(line) || roleHeading.MatchString(line) {
			stripped++
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), stripped
}

// NextSoul returns the text after a change of current.
func NextSoul(current, change string, action SoulAction) (string, error) {
	next := change
	if action == SoulAppend && current != "" && change != "" {
		next = current + "\n" + change
	}
	if n := utf8.RuneCountInString(next); n > SoulRunes {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("the soul would have %d characters, at most %d are allowed", n,
			SoulRunes), "replace it with a shorter text about style; store facts as memories").
			With("size", n).With("limit", SoulRunes)
	}
	return next, nil
}
