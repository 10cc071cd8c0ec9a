package designer

import (
	"slices"
	"strings"

	"cairn/internal/domain/memoryskill"
)

// Describe returns a text about the changes of a round, so that they are not tried again: the
// changed skills, and the new texts of refined ones.
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
