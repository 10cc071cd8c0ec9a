package offlinemodel

import (
	"cmp"
	"slices"
	"strings"

	"cairn/internal/domain/annotate"
	"cairn/internal/domain/prompt"
)

// criteria rates the draft by counting: the items that speak about a criterion are its points, up to two, and
// the first of them is the quote. Rules cannot tell whether a method serves again, which gets one point.
func (v *view) criteria() []map[string]any {
	d := cmp.Or(v.material.Draft, &prompt.Candidate{})
	steps := annotate.Lines(d.Procedure)
	lines := slices.Concat(steps, d.Experience)
	about := func(words string) []string {
		return keep(lines, func(line string) bool {
			return slices.ContainsFunc(strings.Split(v.say(words), "|"), func(word string) bool {
				return strings.Contains(strings.ToLower(line), word)
			})
		})
	}
	reusable := annotate.Distinct([]string{d.Description}, 1)
	var out []map[string]any
	for _, c := range []struct {
		name  string
		items []string
	}{
		{"trigger", append(annotate.Distinct([]string{d.Description}, 1), d.Trigger...)},
		{"inputs", about("asks")}, {"rules", keep(d.Experience, func(line string) bool {
			return !slices.Contains(about("fails"), line)
		})},
		{"steps", steps}, {"verification", about("checks")}, {"errors", about("fails")},
		{"grounded", v.seen(slices.Concat(d.Tools, lines, d.Preference))}, {"reusable", reusable},
	} {
		found := map[string]any{"criterion": c.name, "points": min(2, len(c.items)), "quote": "", "missing": ""}
		switch len(c.items) {
		case 0:
			found["missing"] = v.say("lacks")
		case 1:
			found["missing"] = v.say("more")
		}
		if len(c.items) > 0 {
			found["quote"] = c.items[0]
		}
		out = append(out, found)
	}
	return out
}

func keep(texts []string, fits func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !fits(text) })
}

// seen returns the texts that are in the transcript.
func (v *view) seen(texts []string) []string {
	return keep(texts, func(text string) bool {
		return slices.ContainsFunc(v.messages, func(m prompt.Message) bool {
			return strings.Contains(m.Content, text) || slices.ContainsFunc(m.ToolCalls, func(call string) bool {
				return strings.HasPrefix(call, text+"(")
			})
		})
	})
}
