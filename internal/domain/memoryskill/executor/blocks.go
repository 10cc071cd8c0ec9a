package executor

import (
	"regexp"
	"strings"

	"cairn/internal/domain/memoryskill"
)

// A keyword is recognized only at the start of a line, after an optional bullet, bold mark or
// backticks, and before a separator. All other text is content.
var (
	keywordLine = regexp.MustCompile("(?i)^[\\s>]*(?:[-*•+]\\s+|\\d+[.)]\\s+)?[*_`]*(action|memory[ _]item|memory[ " +
		"_]ind(?:ex|ices)|updated[ _]memory)[*_`]*\\s*[:=-][*_`]*\\s*(.*)$")
	bareAction = regexp.MustCompile("(?i)^[\\s>]*(?:[-*•+]\\s+)?[*_`]*(insert|update|delete|noop|skip)[*_`]*\\s*[.]?$")
	heading    = regexp.MustCompile("(?i)^[\\s#>*_`]*(?:insert|update|delete|noop|skip)\\s+(?:block|" +
		"action)s?[*_`]*\\s*:?[*_`]*\\s*$")
	fenceLine = regexp.MustCompile("^\\s*(?:```|~~~)\\w*\\s*$")
	itemMark  = regexp.MustCompile(`^\s*(?:[-*•+]|\d+[.)])\s+`)
	// An index is a whole number. Texts such as -1 and 1.5 name no memory.
	numbers = regexp.MustCompile(`[-+]?\d+(?:\.\d+)*`)
)

// unfenced returns a reply without the lines that open and close fences.
func unfenced(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !fenceLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// block is the action that is being parsed.
type block struct {
	kind    memoryskill.Action
	items   []string // texts with labels
	loose   []string // lines without a label
	targets []string
	open    bool // the last item continues
}

// fromBlocks parses text blocks. broken reports an incomplete action.
func fromBlocks(text string) (out []Action, broken bool) {
	var current *block
	flush := func() {
		if current != nil {
			made := current.actions()
			broken = broken || len(made) == 0
			out = append(out, made...)
		}
		current = nil
	}
	for line := range strings.SplitSeq(unfenced(text), "\n") {
		keyword, rest := readKeyword(line)
		kind := memoryskill.ParseAction(strings.Trim(rest, "*_`. "))
		switch {
		case keyword == "action" && kind != "":
			flush()
			current = &block{kind: kind}
		case keyword == "" && bareAction.MatchString(line) && (current == nil || !current.open):
			flush()
			current = &block{kind: memoryskill.ParseAction(bareAction.FindStringSubmatch(line)[1])}
		case current == nil, heading.MatchString(line):
		case keyword == "index":
			current.open = false
			for _, n := range numbers.FindAllString(rest, -1) {
				current.targets = append(current.targets, handle(n))
			}
		case keyword == "item":
			current.items, current.open = append(current.items, rest), true
		case current.open: // also a line that only looks like an action, because content may quote one
			last := len(current.items) - 1
			current.items[last] += "\n" + line
		default:
			if text := strings.TrimSpace(itemMark.ReplaceAllString(line, "")); text != "" &&
				itemMark.MatchString(line) {
				current.loose = append(current.loose, text)
			}
		}
	}
	flush()
	return out, broken
}

func readKeyword(line string) (keyword, rest string) {
	m := keywordLine.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	switch name := strings.ToLower(strings.ReplaceAll(m[1], " ", "_")); {
	case name == "action":
		return "action", m[2]
	case strings.HasPrefix(name, "memory_ind"):
		return "index", m[2]
	}
	return "item", m[2]
}

// actions returns the actions of a block. Several items are several inserts. Indices and texts of
// updates are paired.
func (b block) actions() (out []Action) {
	items := b.items
	if len(items) == 0 && b.kind == memoryskill.Insert {
		items = b.loose
	}
	switch b.kind {
	case memoryskill.Noop:
		return []Action{{Type: memoryskill.Noop}}
	case memoryskill.Delete:
		for _, target := range b.targets {
			out = append(out, Action{Type: b.kind, Target: target})
		}
	case memoryskill.Update:
		for i := range min(len(items), len(b.targets)) {
			out = append(out, Action{Type: b.kind, Target: b.targets[i], Content: strings.TrimSpace(items[i])})
		}
	case memoryskill.Insert:
		for _, item := range items {
			if item = strings.TrimSpace(item); item != "" {
				out = append(out, Action{Type: b.kind, Content: item})
			}
		}
	}
	return out
}
