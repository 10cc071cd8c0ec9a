package bank

import (
	"fmt"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
)

// SkillsOf returns the skills of a decision, in the order of the choice.
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

// translated returns skills in the language of a prompt, as far as they have a text in it.
func translated(skills []memoryskill.Skill, lang string) (out []memoryskill.Skill) {
	for _, s := range skills {
		out = append(out, s.In(lang))
	}
	return out
}

// Tokens returns the length of skills in a prompt, in tokens.
func Tokens(skills []memoryskill.Skill) (n int) {
	for _, s := range skills {
		n += s.Tokens()
	}
	return n
}

// Roles returns skills in the form that is needed to resolve actions.
func Roles(skills []memoryskill.Skill) (out []executor.SelectedSkill) {
	for _, one := range skills {
		out = append(out, executor.SelectedSkill{Name: one.Name, Action: one.Action})
	}
	return out
}

// Handles maps handles to the IDs of the memories in the prompt.
func Handles(shown []string) map[string]string {
	out := map[string]string{}
	for i, id := range shown {
		out[handle(i)] = id
	}
	return out
}

func handle(i int) string { return fmt.Sprintf("%s%d", executor.HandlePrefix, i) }
