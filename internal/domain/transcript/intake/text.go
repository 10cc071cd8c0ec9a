package intake

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/transcript"
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
		t, ok := transcript.ParseTime(m[1])
		if !ok && !transcript.ClockOnly.MatchString(strings.TrimSpace(m[1])) {
			return head{}, false
		}
		h.timed, h.time = true, t
	}
	_, isRole := h.role()
	glued := m[3] == ":" && m[4] == "" && m[5] != ""
	return h, isRole || !glued
}

func (h head) role() (transcript.Role, bool) { return transcript.ParseRole(h.name) }

// notSpeakers matches words that start lines of prose rather than messages.
var notSpeakers = regexp.MustCompile(`(?i)^(note|notes|error|warning|hint|tip|todo|fixme|example|result|output|` +
	`input|summary|answer|question|https?|file|line|total|step \d+|e\.g|i\.e|ps|注意|注|例如|错误|警告|提示)$`)

func plainText() Adapter {
	return Adapter{Name: PlainText, About: "text lines of the form `user: …`, or `[time] name: …`", read: readText}
}

// detectText accepts text of which a line starts a message.
func detectText(p Probe) (int, string) {
	if p.json {
		return 0, ""
	}
	for line := range strings.Lines(string(p.Head)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, ok := splitHead(line); ok {
			return 60, "`name: text` lines"
		}
		break
	}
	return 0, ""
}

// readText reads lines of the form `name: text`. A line that does not start a message continues the
// previous one.
func readText(s *JSONSource, k *Sink) error {
	data, err := s.All(nil)
	if err != nil {
		return err
	}
	c := NewChunk(data, 1)
	if err := s.CheckText(c); err != nil {
		return err
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	starts := headsOf(lines, true)
	if starts == nil {
		starts = headsOf(lines, false)
	}
	speakers := speakersOf(starts)
	t := k.open("")
	var contents []*strings.Builder
	for i, line := range lines {
		if h, ok := starts[i]; ok && speakers.has(h) {
			m := speakers.message(h)
			m.Place = &transcript.FilePlace{File: s.Name, Line: i + 1}
			t.put(m)
			contents = append(contents, &strings.Builder{})
			line = h.text
		}
		if len(contents) > 0 {
			contents[len(contents)-1].WriteString(line + "\n")
		} else if strings.TrimSpace(line) != "" {
			return s.At(NewChunk(nil, i+1), 0, "no `name: text` line")
		}
	}
	for i := range t.Messages {
		t.Messages[i].Content = strings.TrimSpace(contents[i].String())
	}
	return nil
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
			c.roles = c.roles || role == transcript.User || role == transcript.Assistant
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
func (c cast) message(h head) transcript.Message {
	if role, isRole := h.role(); isRole {
		return transcript.Message{Role: role, Time: h.time}
	}
	role := transcript.User
	if len(c.order) == 2 && !c.roles && c.order[1] == h.name {
		role = transcript.Assistant
	}
	return transcript.Message{Role: role, Name: h.name, Time: h.time}
}
