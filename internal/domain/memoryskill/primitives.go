package memoryskill

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed primitives/*.md
var primitiveFiles embed.FS

// Primitives returns the four initial skills of a bank, one for each action. They can be refined,
// but not removed, and keep their action. Insert is protected because nothing else adds memories.
func Primitives() []Skill {
	var skills []Skill
	for _, a := range Actions {
		skills = append(skills, shipped(primitiveFiles, fmt.Sprintf("primitives/%s.md", a)))
	}
	return skills
}

// IsPrimitive reports whether name is the name of a primitive.
func IsPrimitive(name string) bool { return slices.Contains(Actions, Action(name)) }
