package memoryskill

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/fault"
)

// Export returns the Markdown of each skill by file name: the skill's name and ".md".
func (b Bank) Export() map[string][]byte {
	files := map[string][]byte{}
	for _, v := range b.versions {
		files[v.Skill.Name+".md"] = Render(v.Skill)
	}
	return files
}

// Import adds or refines the skills of Markdown files. A new skill is added, a different one is
// refined, and an equal one keeps its version. Skills without a file are unchanged. Either all
// files are imported or none; the error lists every invalid file. Importing an export changes
// nothing.
func (b Bank) Import(files map[string][]byte, origin string) (Bank, error) {
	after := b
	var wrong []error
	from := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		s, err := Parse(files[file])
		if other, twice := from[s.Name]; err == nil && twice {
			err = fault.Newf(fault.InvalidArgument, "skill %q is already in %s", s.Name, other)
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

// CheckFiles returns an error that names each file that no bank imports.
func CheckFiles(files map[string][]byte) error {
	var wrong []error
	for _, file := range slices.Sorted(maps.Keys(files)) {
		s, err := Parse(files[file])
		if err == nil {
			_, err = NewVersion(s, "", Human, "")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(wrong...)
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
