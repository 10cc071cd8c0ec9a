package memoryskill

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/fault"
)

// Export writes each skill as Markdown, by file name: its name and ".md".
func (b Bank) Export() map[string][]byte {
	files := map[string][]byte{}
	for _, v := range b.versions {
		files[v.Skill.Name+".md"] = Render(v.Skill)
	}
	return files
}

// Import reads Markdown files into the bank: a skill that it has not is added, one
// that says something else is refined, one that says the same keeps its version,
// and what no file is about stays. All files are read in, or none is; every file
// that could not be is told. Importing an export changes nothing.
func (b Bank) Import(files map[string][]byte, origin string) (Bank, error) {
	after := b
	var wrong []error
	from := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		s, err := Parse(files[file])
		if other, twice := from[s.Name]; err == nil && twice {
			err = fault.Newf(fault.InvalidArgument, "skill %q is in %s already", s.Name, other)
		}
		if err == nil {
			from[s.Name] = file
			after, err = after.take(s, origin)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
		}
	}
	if len(wrong) > 0 {
		return b, errors.Join(wrong...)
	}
	if after.Hash() == b.Hash() {
		return b, nil
	}
	after.parent = b.Hash()
	return after, nil
}

func (b Bank) take(s Skill, origin string) (Bank, error) {
	current, there := b.Get(s.Name)
	switch {
	case !there:
		return b.Add(s, Human, origin)
	case string(Render(current.Skill)) == string(Render(s)):
		return b, nil
	}
	return b.Refine(s, Human, origin)
}
