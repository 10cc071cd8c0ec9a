package offlinemodel

import (
	"cmp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
)

// criteria rates the draft by counting: the items that speak about a criterion are its points, up to two, and
// the first of them is the quote. Rules cannot tell whether a method serves again, which gets one point.
func (v *view) criteria() []object {
	d := cmp.Or(v.material.Draft, &prompt.Candidate{})
	purpose := memoryrules.Distinct([]string{d.Description}, 1)
	steps := memoryrules.Lines(d.Procedure)
	checks := slices.DeleteFunc(slices.Clone(steps), func(line string) bool {
		return !strings.HasPrefix(line,
			"Check: ")
	})
	failures := slices.Concat(d.Pitfalls, slices.DeleteFunc(slices.Clone(d.Experience), func(lesson string) bool {
		return !strings.Contains(lesson, "“")
	}))
	parts := slices.Concat(d.Tools, steps, d.Rules, d.Experience, d.Preference)
	var out []object
	for _, c := range []struct {
		name, lacks string
		items       []string
	}{
		{"trigger", "lacks", append(slices.Clone(purpose), d.Trigger...)}, {"inputs", "lacks", d.Inputs},
		{"rules", "lacks", d.Rules}, {"steps", "lacks", steps},
		{"verification", "unseen", append(slices.Clone(d.Verification), checks...)}, {"errors", "lacks", failures},
		{"grounded", "lacks", v.seen(parts)}, {"reusable", "lacks", purpose},
	} {
		points := min(2, len(c.items))
		if c.name == "reusable" {
			points = min(1, points)
		}
		found := object{"criterion": c.name, "points": points, "quote": "", "missing": ""}
		switch {
		case len(c.items) == 0:
			found["missing"] = v.say(c.lacks)
		case c.name == "reusable":
			found["missing"] = v.say("judge again")
		case len(c.items) == 1:
			found["missing"] = v.say("more")
		}
		if len(c.items) > 0 {
			found["quote"] = c.items[0]
		}
		out = append(out, found)
	}
	return out
}

// weak names the criteria without full points.
func (v *view) weak() string {
	var names []string
	for _, c := range v.criteria() {
		if c["points"] != 2 || c["missing"] != "" {
			names = append(names, c["criterion"].(string))
		}
	}
	return v.list("weak", names)
}

// seen returns the texts that are in the transcript.
func (v *view) seen(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return !slices.ContainsFunc(v.messages, func(m prompt.Message) bool {
			return strings.Contains(m.Content, text) || slices.ContainsFunc(m.ToolCalls, func(call string) bool {
				return strings.HasPrefix(call, text+"(")
			})
		})
	})
}
