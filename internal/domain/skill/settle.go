package skill

import (
	"regexp"
	"slices"
	"strings"
)

// triggerMarks matches marks that would turn the first trigger into a list, a heading or a fence.
var triggerMarks = regexp.MustCompile(`^(?:#{1,6}(?:\s+|$)|[-*+]\s+|[0-9]{1,9}[.)]\s+|~{3,})`)

func settleTriggers(triggers []string) []string {
	var settled []string
	for _, trigger := range triggers {
		trigger = strings.ReplaceAll(clean(trigger), "`", "") // code marks could form pairs across keywords
		for word := range strings.SplitSeq(trigger, ",") {
			for {
				next := withoutMarks(collapse(RemoveHTML(clean(word))))
				if next == word {
					break
				}
				word = next
			}
			settled = append(settled, word)
		}
	}
	return distinct(settled)
}

// withoutMarks removes all marks at once, because a keyword may consist of many.
func withoutMarks(word string) string {
	for {
		mark := triggerMarks.FindString(word)
		if mark == "" {
			return word
		}
		word = word[len(mark):]
	}
}

// settleParts normalizes parts of one line each.
func settleParts[T any](lines []string, parse func(string) T) (out []T) {
	for i, text := range lines {
		for {
			next := withoutMarks(collapse(RemoveHTML(clean(text))))
			next = strings.TrimSpace(fenceMarks.ReplaceAllString(next, ""))
			if next == text {
				break
			}
			text = next
		}
		lines[i] = text
	}
	for _, text := range distinct(lines) {
		out = append(out, parse(text))
	}
	return out
}

// fenceMarks matches marks that would open a fence in a list item.
var fenceMarks = regexp.MustCompile("^`{3,}")

func settleExamples(examples []string) []string {
	settled := make([]string, len(examples))
	for i, example := range examples {
		settled[i] = clean(example)
	}
	return distinct(settled)
}

func settleNames(kind string, names []string) []string {
	var settled []string
	for _, name := range names {
		if cleaned, err := CheckFile(kind, name); err == nil {
			settled = append(settled, cleaned)
		}
	}
	settled = distinct(settled)
	slices.Sort(settled)
	return settled
}

// settleEntries sorts entries by key and merges entries with equal keys.
func settleEntries(entries []Entry) []Entry {
	var settled []Entry
	var texts [][]string // of each entry
	byKey := map[string]int{}
	for _, e := range entries {
		e = Entry{headingText(e.Key), settleEntryText(e.Text)}
		if e.Key == "" {
			e.Key = "Notes"
		}
		if e.Text == "" {
			continue
		}
		if at, known := byKey[fold(e.Key)]; known {
			texts[at] = append(texts[at], e.Text)
			continue
		}
		byKey[fold(e.Key)] = len(settled)
		settled, texts = append(settled, e), append(texts, []string{e.Text})
	}
	for i := range settled {
		settled[i].Text = paragraphs(texts[i])
	}
	slices.SortFunc(settled, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return settled
}

// seeAlsoLine matches a line that would be parsed as the list of reference files.
var seeAlsoLine = regexp.MustCompile(`(?m)^` + seeAlso + `[ \t]*$`)

func settleEntryText(text string) string {
	return entryText.settle(seeAlsoLine.ReplaceAllString(entryText.settle(text), strings.TrimSuffix(seeAlso, ":")))
}
