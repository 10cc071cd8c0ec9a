package memoryskill

import "strings"

// Lines returns the lines of the skill's Markdown that only one version has, marked with - or +.
func (d Difference) Lines() []string {
	text := func(v Version) string {
		if v.ID == "" {
			return ""
		}
		return string(Render(v.Skill))
	}
	return ChangedLines(text(d.Before), text(d.After))
}

// ChangedLines returns the lines that only one text has, marked with - or +.
func ChangedLines(before, after string) (out []string) {
	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	for _, side := range []struct {
		mark       string
		own, other []string
	}{{"- ", lines(before), lines(after)}, {"+ ", lines(after), lines(before)}} {
		has := map[string]bool{}
		for _, line := range side.other {
			has[line] = true
		}
		for _, line := range side.own {
			if !has[line] && line != "" {
				out = append(out, side.mark+line)
			}
		}
	}
	return out
}
