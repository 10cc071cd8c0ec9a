package library

import (
	"slices"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func TestACommandIsWordsAndNothingElse(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"scripts/a.py  --n 3":              {"scripts/a.py", "--n", "3"},
		`grep 'a; b | $(c)' "d e" f\ g ''`: {"grep", "a; b | $(c)", "d e", "f g", ""},
		`grep "a\$b" x"y"'z'`:              {"grep", "a$b", "xyz"},
		"":                                 nil,
	} {
		if got, err := ParseCommand(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", command, got, err)
		}
	}
	for _, command := range []string{"ls; id", "ls && id", "ls | sh", "ls > /x", "cat < x", "echo $HOME", "echo $(id)",
		"echo `id`", `echo "$(id)"`, "echo \"`id`\"", "ls\nid", "ls\rid", "ls\x00", "ls *", "ls ~", "(id)", "ls & id",
		"{ id; }", "ls # x", "ls [a]", "! ls"} {
		if _, err := ParseCommand(command); fault.CodeOf(err) != fault.CommandRefused {
			t.Errorf("%q: %v", command, err)
		}
	}
	for _, command := range []string{`ls "a`, "ls 'a", `ls \`, "ls \xff"} {
		if _, err := ParseCommand(command); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", command, err)
		}
	}
}

func TestOnlyAllowedProgramsAndTheSkillsScriptsAreRun(t *testing.T) {
	t.Parallel()
	files := []skill.File{{Path: "SKILL.md"}, {Path: "scripts/a.py"}, {Path: "scripts/b.sh"}, {Path: "scripts/c.ts"},
		{Path: "reference/d.md"}}
	allowed := []string{"python3", "sh", "cat"}
	for _, c := range []struct {
		words, want []string
		code        fault.Code
	}{
		{words: []string{"scripts/a.py", "-n", "3"}, want: []string{"python3", "scripts/a.py", "-n", "3"}},
		{words: []string{"./b.sh"}, want: []string{"sh", "scripts/b.sh"}},
		{words: []string{"python3", "a.py", "x"}, want: []string{"python3", "scripts/a.py", "x"}},
		{words: []string{"cat", "reference/d.md"}, want: []string{"cat", "reference/d.md"}},
		{words: nil, code: fault.InvalidArgument},
		{words: []string{"scripts/c.ts"}, code: fault.CommandRefused},
		{words: []string{"scripts/x.py"}, code: fault.NotFound},
		{words: []string{"curl", "x"}, code: fault.CommandRefused},
		{words: []string{"node", "a.js"}, code: fault.CommandRefused},
		{words: []string{"python3"}, code: fault.CommandRefused},
		{words: []string{"python3", "-c", "import os"}, code: fault.CommandRefused},
		{words: []string{"sh", "-c", "id"}, code: fault.CommandRefused},
		{words: []string{"sh", "../../x.sh"}, code: fault.OutOfScope},
		{words: []string{"cat", "../x"}, code: fault.OutOfScope},
		{words: []string{"cat", "--file=../x"}, code: fault.OutOfScope},
		{words: []string{"/bin/cat", "x"}, code: fault.OutOfScope},
		{words: []string{"python3", "/etc/x.py"}, code: fault.OutOfScope},
		{words: []string{"A=1", "cat"}, code: fault.CommandRefused},
	} {
		got, err := execPlan(c.words, files, allowed)
		if fault.CodeOf(err) != c.code || c.code == "" && !slices.Equal(got, c.want) {
			t.Errorf("%q: %q %v, want %q %s", c.words, got, err, c.want, c.code)
		}
	}
}
