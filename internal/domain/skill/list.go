package skill

import (
	"regexp"
	"strconv"
	"strings"

	"cairn/internal/domain/transcript/fence"
)

// itemStart matches the start of a list item, bulleted or numbered.
var itemStart = regexp.MustCompile(`^(?:([-*+])|[0-9]{1,9}[.)])[ \t]+(.*)$`)

// settleItems normalizes the items of a list.
func (l layout) settleItems(items []string) []string {
	settled := make([]string, len(items))
	for i, item := range items {
		settled[i] = l.settle(item)
	}
	return distinct(settled)
}

// render returns the items as a list, with continuation lines indented.
func (l layout) render(items []string) string {
	var b strings.Builder
	for i, item := range items {
		marker := l.first
		if l.first == numbered.first {
			marker = strconv.Itoa(i+1) + ". "
		}
		for j, line := range strings.Split(item, "\n") {
			switch {
			case j == 0:
				b.WriteString(marker)
			case line != "":
				b.WriteString(l.rest)
			}
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Items returns the items of a section that is a list, and each paragraph of prose as an item.
func Items(section string) []string { return parseItems(section) }

// parseItems parses a list of either kind. Each paragraph of prose between items becomes an item.
func parseItems(body string) []string {
	var items []string
	var lines []string // of the current item
	begin := func(line string) {
		if lines != nil {
			items = append(items, strings.Join(lines, "\n"))
		}
		lines = []string{line}
	}
	var code fence.Scanner
	indent, blank := 0, true
	for line := range strings.SplitSeq(body, "\n") {
		open := code.Open()
		code.Line(line)
		m := itemStart.FindStringSubmatch(line)
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case !open && m != nil:
			indent = len(numbered.rest)
			if m[1] != "" {
				indent = len(bulleted.rest)
			}
			begin(m[2])
		case !open && blank && !indented && strings.TrimSpace(line) != "":
			indent = 0
			begin(line)
		case lines != nil:
			lines = append(lines, outdent(line, indent))
		}
		blank = strings.TrimSpace(line) == ""
	}
	if lines == nil {
		return nil
	}
	return append(items, strings.Join(lines, "\n"))
}

func outdent(line string, columns int) string {
	for columns > 0 && strings.HasPrefix(line, " ") {
		line, columns = line[1:], columns-1
	}
	return line
}
