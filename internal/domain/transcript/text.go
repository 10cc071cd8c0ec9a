package transcript

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/fence"
)

// head is the start of a message in plain text: `[time] name: text`.
type head struct {
	name  string
	text  string
	timed bool
	time  time.Time
}

// headLine matches the start of a message. A name has at most 40 runes without quotes, brackets or
// colons. An ASCII colon is followed by a space, unless the name is a role.
var headLine = regexp.MustCompile(`^(?:\[([^\[\]{}"]{1,48})\]\s*)?([\pL\pN_@][^\[\]{}<>"“”:：\n]{0,39}` +
	`?)\s*([:：])(\s*)(.*)$`)

func splitHead(line string) (head, bool) {
	m := headLine.FindStringSubmatch(strings.TrimRight(line, " \t\r"))
	if m == nil {
		return head{}, false
	}
	h := head{name: m[2], text: m[5]}
	if m[1] != "" {
		t, ok := parseTime(m[1])
		if !ok && !clockOnly.MatchString(strings.TrimSpace(m[1])) {
			return head{}, false
		}
		h.timed, h.time = true, t
	}
	_, isRole := h.role()
	glued := m[3] == ":" && m[4] == "" && m[5] != ""
	return h, isRole || !glued
}

func (h head) role() (Role, bool) {
	role, ok := roles[strings.ToLower(h.name)]
	return role, ok
}

// notSpeakers matches words that start lines of prose rather than messages.
var notSpeakers = regexp.MustCompile(`(?i)^(note|notes|error|warning|hint|tip|todo|fixme|example|result|output|` +
	`input|summary|answer|question|https?|file|line|total|step \d+|e\.g|i\.e|ps|注意|注|例如|错误|警告|提示)$`)

// parseText parses lines of the form `name: text`. A line that does not start a message continues
// the previous one.
func parseText(name, text string) ([]Conversation, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	starts := headsOf(lines, true)
	if starts == nil {
		starts = headsOf(lines, false)
	}
	speakers := speakersOf(starts)
	var messages []Message
	var contents []*strings.Builder
	for i, line := range lines {
		if h, ok := starts[i]; ok && speakers.has(h) {
			messages = append(messages, speakers.message(h))
			contents = append(contents, &strings.Builder{})
			line = h.text
		}
		if len(messages) > 0 {
			contents[len(contents)-1].WriteString(line + "\n")
		} else if strings.TrimSpace(line) != "" {
			return nil, fault.New(fault.InvalidArgument,
				fmt.Sprintf("%s:%d:1: no `name: text` line", name, i+1), formats)
		}
	}
	for i := range messages {
		messages[i].Content = strings.TrimSpace(contents[i].String())
	}
	return []Conversation{{Messages: messages}}, nil
}

// headsOf returns the lines that may start a message, by line number. If fences is true, lines
// inside code are ignored. A nil result means that a fence is open at the end, so the fences cannot
// be trusted.
func headsOf(lines []string, fences bool) map[int]head {
	heads := map[int]head{}
	var code fence.Scanner
	for i, line := range lines {
		if h, ok := splitHead(line); ok && !(fences && code.Open()) {
			heads[i] = h
			line = h.text
		}
		code.Line(line)
	}
	if fences && code.Open() {
		return nil
	}
	return heads
}

// cast lists the speakers of a text in order of appearance, without the roles.
type cast struct {
	order []string
	roles bool // the text has user or assistant messages
}

// speakersOf finds the names of speakers. In a text with roles, another name is a speaker only if
// it is first, has a time, or occurs twice. Otherwise `Cause: disk full` inside a reply would
// become a speaker.
func speakersOf(heads map[int]head) cast {
	var c cast
	counts := map[string]int{}
	sure := map[string]bool{}
	for i, line := range slices.Sorted(maps.Keys(heads)) {
		h := heads[line]
		if role, isRole := h.role(); isRole {
			c.roles = c.roles || role == User || role == Assistant
			continue
		}
		if i == 0 || h.timed {
			sure[h.name] = true
		}
		if counts[h.name]++; counts[h.name] == 1 {
			c.order = append(c.order, h.name)
		}
	}
	c.order = slices.DeleteFunc(c.order, func(name string) bool {
		prose := notSpeakers.MatchString(name)
		return !sure[name] && (prose || c.roles && counts[name] == 1)
	})
	return c
}

func (c cast) has(h head) bool {
	_, isRole := h.role()
	return isRole || slices.Contains(c.order, h.name)
}

// message assigns roles to speakers. All are users, but of exactly two speakers the second is the
// assistant.
func (c cast) message(h head) Message {
	if role, isRole := h.role(); isRole {
		return Message{Role: role, Time: h.time}
	}
	role := User
	if len(c.order) == 2 && !c.roles && c.order[1] == h.name {
		role = Assistant
	}
	return Message{Role: role, Name: h.name, Time: h.time}
}
