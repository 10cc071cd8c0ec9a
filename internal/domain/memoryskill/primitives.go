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
		md, err := primitiveFiles.ReadFile(fmt.Sprintf("primitives/%s.md", a))
		if err != nil {
			panic(err) // the files are embedded
		}
		s, err := Parse(md)
		if err != nil {
			panic(err)
		}
		skills = append(skills, s)
	}
	return skills
}

// IsPrimitive reports whether name is the name of a primitive.
func IsPrimitive(name string) bool { return slices.Contains(Actions, Action(name)) }
