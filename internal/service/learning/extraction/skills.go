package extraction

import (
	"fmt"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
)

// SkillsOf are the skills of a decision in the order of the choice.
func SkillsOf(b memoryskill.Bank, ids []string) (out []memoryskill.Skill) {
	for _, id := range ids {
		for _, v := range b.Versions() {
			if v.ID == id {
				out = append(out, v.Skill)
			}
		}
	}
	return out
}

// Roles are skills as actions are resolved with them.
func Roles(skills []memoryskill.Skill) (out []executor.SelectedSkill) {
	for _, one := range skills {
		out = append(out, executor.SelectedSkill{Name: one.Name, Action: one.Action})
	}
	return out
}

// Handles lead from short names to the memories that were shown.
func Handles(shown []string) map[string]string {
	out := map[string]string{}
	for i, id := range shown {
		out[handle(i)] = id
	}
	return out
}

func handle(i int) string { return fmt.Sprintf("%s%d", executor.HandlePrefix, i) }
