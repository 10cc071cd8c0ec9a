package skill

import (
	"regexp"
	"slices"
	"strings"
)

// triggerMarks would make a list, a heading or a fence of the first trigger.
var triggerMarks = regexp.MustCompile(`^(?:#{1,6}(?:\s+|$)|[-*+]\s+|[0-9]{1,9}[.)]\s+|~{3,})`)

func settleTriggers(triggers []string) []string {
	var settled []string
	for _, trigger := range triggers {
		trigger = strings.ReplaceAll(clean(trigger), "`", "") // code marks would pair up across keywords
		for word := range strings.SplitSeq(trigger, ",") {
			for {
				next := triggerMarks.ReplaceAllString(collapse(withoutHTML(clean(word))), "")
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

// settleEntries sorts entries by key; entries of one key become one.
func settleEntries(entries []Entry) []Entry {
	var settled []Entry
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
			settled[at].Text += "\n\n" + e.Text
			continue
		}
		byKey[fold(e.Key)] = len(settled)
		settled = append(settled, e)
	}
	slices.SortFunc(settled, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return settled
}

// seeAlsoLine would be taken for the list of reference files.
var seeAlsoLine = regexp.MustCompile(`(?m)^` + seeAlso + `[ \t]*$`)

func settleEntryText(text string) string {
	return entryText.settle(seeAlsoLine.ReplaceAllString(entryText.settle(text), strings.TrimSuffix(seeAlso, ":")))
}
