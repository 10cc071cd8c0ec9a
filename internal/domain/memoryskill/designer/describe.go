package designer

import (
	"slices"
	"strings"

	"cairn/internal/domain/memoryskill"
)

// Describe says in words what a round changed, for those who are not to try it
// again: which skills, and what refined ones now say besides.
func Describe(changes []memoryskill.Difference) string {
	var parts []string
	for _, d := range changes {
		part := d.Kind + " " + d.Name
		if d.Kind == memoryskill.Refined {
			before := slices.Concat(d.Before.Skill.WhenToUse, d.Before.Skill.HowToApply, d.Before.Skill.Constraints)
			after := slices.Concat(d.After.Skill.WhenToUse, d.After.Skill.HowToApply, d.After.Skill.Constraints)
			if news := slices.DeleteFunc(after, func(line string) bool {
				return slices.Contains(before, line)
			}); len(news) > 0 {
				part += " (" + strings.Join(news, "; ") + ")"
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
