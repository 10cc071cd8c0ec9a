package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
)

const (
	// keptShare is the share of steps, rules and text that an update must keep, in percent.
	keptShare = 70
	// fewItems is the number of items below which their number says little.
	fewItems = 3
)

// shrinks reports parts that have less than keptShare of their size.
func shrinks(current, next skill.Version) (out []approval.Finding) {
	was, is := current.Document().Agent(), next.Document().Agent()
	parts := []struct {
		name, place string
		before      int
		after       int
		least       int
	}{
		{"steps", "Procedure", len(steps(was)), len(steps(is)), fewItems},
		{"rules", "Rules, Pitfalls, Experience and User Preferences", len(rules(was)), len(rules(is)), fewItems},
		{"characters", "SKILL.md", utf8.RuneCountInString(current.Body), utf8.RuneCountInString(next.Body), 1},
	}
	for _, p := range parts {
		if p.before >= p.least && p.after*100 < p.before*keptShare {
			out = append(out, approval.NewFinding(Shrink, approval.Block, p.place, "",
				fmt.Sprintf("keeps %d of %d %s", p.after, p.before, p.name)))
		}
	}
	return out
}

// listMark matches the mark of a list item.
var listMark = regexp.MustCompile(`^(?:[-*+]|\d+[.)、]|[（(]?[一二三四五六七八九十]+[)）、])\s*`)

// items returns the lines of a text without list marks and empty lines.
func items(text string) (out []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = listMark.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// steps returns the lines of the procedure and of the verification.
func steps(d skill.Document) []string {
	return slices.Concat(items(d.Procedure), items(d.Verification))
}

// rules returns the rules of a document: decision rules, experience, preferences and pitfalls.
func rules(d skill.Document) []string {
	return slices.Concat(decisions(d), d.Experience, d.Preference, items(d.Pitfalls))
}

// decisions returns the decision rules with their values, without their sources.
func decisions(d skill.Document) (out []string) {
	for _, r := range d.Rules {
		r.Source = ""
		text := r.String()
		if r.Value != "" {
			text += ": " + strings.TrimSpace(r.Value+" "+r.Unit)
		}
		out = append(out, text)
	}
	return out
}
