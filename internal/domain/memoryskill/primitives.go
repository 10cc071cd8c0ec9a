package memoryskill

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed primitives/*.md
var primitiveFiles embed.FS

// Primitives are the four skills that a bank begins with, one for each action.
// Insert is the only one that makes memory grow, so all four are protected: they
// can be refined, never removed, and keep their action.
func Primitives() []Skill {
	var skills []Skill
	for _, a := range Actions {
		md, err := primitiveFiles.ReadFile(fmt.Sprintf("primitives/%s.md", a))
		if err != nil {
			panic(err) // embedded
		}
		s, err := Parse(md)
		if err != nil {
			panic(err)
		}
		skills = append(skills, s)
	}
	return skills
}

// IsPrimitive tells whether a name is one of the four.
func IsPrimitive(name string) bool { return slices.Contains(Actions, Action(name)) }
