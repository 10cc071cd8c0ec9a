package skill_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// A skill's own files and the limits of a package take precedence over extra files.
func TestExtraFilesThatHaveNoRoomAreNamed(t *testing.T) {
	t.Parallel()
	files := []skill.File{{Path: "scripts/a.py", Content: "pass\n"}, {Path: "reference/b.md", Content: "b\n"}}
	large := strings.Repeat("x", skill.MaxFile)
	extra := []skill.File{{Path: "LICENSE", Content: "ok"}, {Path: "SCRIPTS/A.py", Content: "taken"},
		{Path: "reference/b.md/c.png", Content: "below a file"}, {Path: "scripts", Content: "a folder"},
		{Path: "../out", Content: "x"}, {Path: "/etc/x", Content: "x"}, {Path: "skill.MD", Content: "x"},
		{Path: "assets/huge.csv", Content: large + "x"}}
	kept, violations := skill.CarryExtras(files, extra)
	if len(kept) != 1 || kept[0].Path != "LICENSE" || len(violations) != len(extra)-1 {
		t.Errorf("kept %d files, violations %q", len(kept), violations)
	}
	for _, f := range extra[1:] {
		if _, err := skill.Zip("probe", []byte("x"), files, f); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s was packed: %v", f.Path, err)
		}
	}
	var many []skill.File
	for i := range 2 * skill.MaxFiles {
		many = append(many, skill.File{Path: "assets/" + strings.Repeat("f", i+1), Content: "x"})
	}
	if kept, _ := skill.CarryExtras(files, many); len(kept)+len(files)+1 != skill.MaxFiles {
		t.Errorf("%d of %d extra files are kept with %d files and SKILL.md", len(kept), len(many), len(files))
	}
	var heavy []skill.File
	for _, name := range strings.Split("abcdefghijklmn", "") {
		heavy = append(heavy, skill.File{Path: "assets/" + name, Content: large})
	}
	kept, violations = skill.CarryExtras(files, heavy)
	if len(violations) == 0 || len(kept)*skill.MaxFile > skill.MaxPackage {
		t.Errorf("%d files of %d bytes are kept", len(kept), skill.MaxFile)
	}
	archive, err := skill.Zip("probe", []byte("---\nname: probe\ndescription: d\n---\n\n## Procedure\n\n1. a\n"), files,
		kept[0])
	if err != nil {
		t.Fatal(err)
	}
	back, err := skill.ReadExtras(archive)
	if err != nil || len(back) != 1 || back[0] != kept[0] {
		t.Errorf("read back %d files, %v", len(back), err)
	}
}
