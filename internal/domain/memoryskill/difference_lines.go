package memoryskill

import "strings"

// Lines returns the lines of a skill's Markdown that only one version has, marked with - or +.
func (d Difference) Lines() (out []string) {
	lines := func(v Version) (all []string) {
		if v.ID != "" {
			all = strings.Split(strings.TrimSpace(string(Render(v.Skill))), "\n")
		}
		return all
	}
	before, after := lines(d.Before), lines(d.After)
	for _, side := range []struct {
		mark       string
		own, other []string
	}{{"- ", before, after}, {"+ ", after, before}} {
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
