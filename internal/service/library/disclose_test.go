package library_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

// keep imports a package with files as a skill in force.
func (b *bundle) keep(name string, files, extra []skill.File) {
	b.t.Helper()
	markdown := []byte("---\nname: " + name + "\ndescription: How " + name +
		" is done\n---\n\n## When to Use\nAlways.\n\n## Procedure\n1. Begin\n")
	archive, err := skill.Zip(name, markdown, files, extra...)
	testkit.Must(b.t, err)
	_, err = b.Import(b.t.Context(), b.ws.ID, archive, "import", &approval.Override{})
	testkit.Must(b.t, err)
}

func TestSkillsAreDisclosedStepByStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("长", library.FilePage) + "the end\n"
	b.keep("brew-tea", []skill.File{{Path: "reference/leaves.md", Content: long},
		{Path: "scripts/timer.py", Content: "print(3)\n"}},
		[]skill.File{{Path: "assets/note.txt", Content: "rinse the pot"}})
	b.keep("bake-bread", nil, nil)
	turn := b.as(agent.OriginAgent)

	meta := b.call(turn, "load_meta_skills", object{})
	if got := meta["skills"]; got != "- bake-bread: How bake-bread is done\n- brew-tea: How brew-tea is done" ||
		meta["count"] != 2.0 {
		t.Fatalf("listed %q", got)
	}
	if n := b.number("select sum(uses) from skills"); n != 0 {
		t.Errorf("a list counted %d uses", n)
	}

	loaded := b.call(turn, "load_skills", object{
		"skill_names": []string{"brew-tea", "brew-te", "brew-tea"}})["skills"].([]any)
	tea, wrong := loaded[0].(object), loaded[1].(object)
	if len(loaded) != 2 || !strings.Contains(tea["content"].(string), "```skill brew-tea version 1\n") ||
		!strings.Contains(tea["content"].(string), "1. Begin") {
		t.Errorf("loaded %v", loaded)
	}
	if files := tea["files"].([]any); len(files) != 3 {
		t.Errorf("files %v", files)
	}
	if wrong["code"] != string(fault.NotFound) || !strings.Contains(wrong["hint"].(string), "brew-tea") {
		t.Errorf("a skill that is not there: %v", wrong)
	}
	b.refused(turn, "load_skills", object{"skill_names": []string{"nothing"}}, fault.NotFound)
	b.refused(turn, "load_skills", object{"skill_names": []string{}}, fault.InvalidArgument)

	file := func(name string, more object) object {
		args := object{"skill_name": "brew-tea", "file_name": name}
		for k, v := range more {
			args[k] = v
		}
		return b.call(turn, "load_reference_skills", args)
	}
	part := file("reference/leaves.md", nil)
	if part["next_offset"] != float64(library.FilePage) || part["total"] != float64(library.FilePage+8) ||
		strings.Contains(part["content"].(string), "the end") {
		t.Errorf("the first part: next %v of %v", part["next_offset"], part["total"])
	}
	if rest := file("leaves.md", object{"offset": part["next_offset"]}); !strings.Contains(rest["content"].(string),
		"the end") || rest["next_offset"] != nil {
		t.Errorf("the rest: %v", rest)
	}
	if note := file("assets/note.txt", nil); !strings.Contains(note["content"].(string), "rinse the pot") {
		t.Errorf("an extra file: %v", note)
	}
	for name, code := range map[string]fault.Code{"../bake-bread/SKILL.md": fault.OutOfScope,
		"/etc/passwd": fault.OutOfScope, "reference/../../x": fault.OutOfScope, `..\x`: fault.OutOfScope,
		"reference//leaves.md": fault.OutOfScope, "reference/other.md": fault.NotFound, "": fault.InvalidArgument} {
		b.refused(turn, "load_reference_skills", object{"skill_name": "brew-tea", "file_name": name}, code)
	}
	b.refused(turn, "load_reference_skills",
		object{"skill_name": "brew-tea", "file_name": "leaves.md", "offset": 99999}, fault.InvalidArgument)
	if n := b.number("select uses from skills where name = 'brew-tea'"); n != 1 {
		t.Errorf("a run that reads a skill and its files counts %d uses", n)
	}

	// Loading reads the whole, as a view does; a file is not the skill.
	other := b.as(agent.OriginAgent)
	b.call(other, "load_reference_skills", object{"skill_name": "bake-bread", "file_name": "x.md"})
	seen := "select count(*) from skill_views where run_id = $1"
	if n := b.number(seen, other.Run); n != 0 {
		t.Errorf("a file counts as %d views", n)
	}
	b.call(other, "load_skills", object{"skill_names": []string{"bake-bread"}})
	if n := b.number(seen, other.Run); n != 1 {
		t.Errorf("a loaded skill counts as %d views", n)
	}
}
