package library

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// interpreters maps file extensions to interpreters. The first allowed one is used.
var interpreters = map[string][]string{".py": {"python3"}, ".sh": {"bash", "sh"}, ".js": {"node"}}

// execPlan returns the command for the words of a call: an allowed program, or a script of the skill
// with the interpreter for its extension. Interpreters run only such scripts.
func execPlan(words []string, files []skill.File, allowed []string) ([]string, error) {
	if len(words) == 0 {
		return nil, fault.New(fault.InvalidArgument, "empty command",
			"name a script of the skill, for example scripts/check.py")
	}
	for _, w := range words {
		if slices.Contains(strings.FieldsFunc(w, func(r rune) bool { return r == '/' || r == '=' }), "..") {
			return nil, fault.New(fault.OutOfScope, fmt.Sprintf("path %.80q is outside the folder of the skill", w),
				"use a path relative to that folder")
		}
	}
	program := words[0]
	if strings.Contains(program, "/") || path.Ext(program) != "" {
		script, err := scriptOf(program, files)
		if err != nil {
			return nil, err
		}
		for _, i := range interpreters[path.Ext(script)] {
			if slices.Contains(allowed, i) {
				return slices.Concat([]string{i, script}, words[1:]), nil
			}
		}
		return nil, fault.New(fault.CommandRefused, "no allowed program can run "+script,
			"use one of: "+strings.Join(allowed, ", "))
	}
	if !slices.Contains(allowed, program) {
		return nil, fault.New(fault.CommandRefused, fmt.Sprintf("program %.80q is not allowed", program),
			"run a script of the skill, or one of: "+strings.Join(allowed, ", "))
	}
	if !interprets(program) {
		return words, nil
	}
	if len(words) < 2 || strings.HasPrefix(words[1], "-") {
		return nil, fault.New(fault.CommandRefused, program+" can only run scripts of the skill",
			"put the script directly after it, for example "+program+" scripts/check.py")
	}
	script, err := scriptOf(words[1], files)
	return slices.Concat([]string{program, script}, words[min(2, len(words)):]), err
}

func interprets(program string) bool {
	for _, names := range interpreters {
		if slices.Contains(names, program) {
			return true
		}
	}
	return false
}

// scriptOf finds a script by its path in the skill, with or without its folder.
func scriptOf(name string, files []skill.File) (string, error) {
	clean := strings.TrimPrefix(name, "./")
	if !filepath.IsLocal(clean) || path.Clean(clean) != clean {
		return "", fault.New(fault.OutOfScope, fmt.Sprintf("path %.80q is outside the skill", name),
			"use the path of a script in the skill, for example scripts/check.py")
	}
	var there []string
	for _, f := range files {
		if f.Path == clean || f.Path == skill.Scripts+"/"+clean {
			return f.Path, nil
		}
		if f.Kind() == skill.Scripts {
			there = append(there, f.Path)
		}
	}
	hint := "the skill has no scripts"
	if len(there) > 0 {
		hint = "use one of: " + strings.Join(there, ", ")
	}
	return "", fault.New(fault.NotFound, fmt.Sprintf("the skill has no file %.80q", name), hint)
}
