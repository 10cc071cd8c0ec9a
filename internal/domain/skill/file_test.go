package skill_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func ExampleAttach() {
	plan := []skill.FilePlan{{File: "b.py"}, {File: "a.py"}, {File: "late.py"}}
	files, degraded, violations := skill.Attach(plan,
		map[string]string{"a.py": "print(1)", "b.py": "x\r\n\r\n", "extra.py": "y", "../c.py": "z"}, skill.Scripts)
	for _, file := range files {
		fmt.Printf("%s %q\n", file.Path, file.Content)
	}
	fmt.Println(degraded)
	fmt.Println(violations)
	// Output:
	// scripts/b.py "x\n"
	// scripts/a.py "print(1)\n"
	// scripts/extra.py "y\n"
	// [scripts/late.py: not returned]
	// [scripts/../c.py: a path is not allowed]
}

func TestCheckFile(t *testing.T) {
	long := strings.Repeat("a", 78)
	for _, c := range []struct{ kind, name, want string }{ // an empty want is a refusal
		{skill.Scripts, "check.py", "check.py"},
		{skill.Scripts, "check", "check.py"},
		{skill.Scripts, "Run_it-2.SH", "Run_it-2.SH"},
		{skill.Scripts, "检查.py", "检查.py"},
		{skill.Scripts, "cafe\u0301.py", "café.py"},
		{skill.Scripts, "scripts/check.py", "check.py"},
		{skill.Scripts, "./scripts/check.py", "check.py"},
		{skill.Reference, "notes", "notes.md"},
		{skill.Reference, "references/notes.md", "notes.md"},
		{skill.Reference, "data.json", "data.json"},
		{skill.Scripts, long[:77] + ".py", long[:77] + ".py"},

		{skill.Scripts, "", ""},
		{skill.Scripts, "../../pwn.py", ""},
		{skill.Scripts, "scripts/../pwn.py", ""},
		{skill.Scripts, "scripts/scripts/pwn.py", ""},
		{skill.Scripts, "reference/pwn.py", ""},
		{skill.Scripts, "/abs.py", ""},
		{skill.Scripts, `a\b.py`, ""},
		{skill.Scripts, `..\evil.md`, ""},
		{skill.Scripts, "C:x.py", ""},
		{skill.Scripts, ".hidden.py", ""},
		{skill.Scripts, "a..py", ""},
		{skill.Scripts, "a b.py", ""},
		{skill.Scripts, "a\x00.py", ""},
		{skill.Scripts, "a\n.py", ""},
		{skill.Scripts, "\u202egnp.py", ""},
		{skill.Scripts, "\xff.py", ""},
		{skill.Scripts, "x.exe", ""},
		{skill.Scripts, "x.", ""},
		{skill.Scripts, "con.py", ""},
		{skill.Scripts, long + ".py", ""},
		{skill.Scripts, long, ""}, // with its extension too long
		{skill.Reference, "SKILL.md", ""},
		{"assets", "a.py", ""},
	} {
		got, err := skill.CheckFile(c.kind, c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("CheckFile(%s, %q) = %q, %v, want %q", c.kind, c.name, got, err, c.want)
		}
		if err != nil && fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: code %s", c.name, fault.CodeOf(err))
		}
	}
}

func FuzzCheckFile(f *testing.F) {
	for _, seed := range []string{"a.py", "../x", "scripts/a", "a\\b", "ａ.md", "..", "./reference/x.md", "CON"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, kind := range []string{skill.Scripts, skill.Reference} {
			clean, err := skill.CheckFile(kind, name)
			if err != nil {
				continue
			}
			if strings.ContainsAny(clean, "/\\:\x00 ") || !filepath.IsLocal(clean) || filepath.Ext(clean) == "" ||
				len([]rune(clean)) > 80 {
				t.Errorf("%q passed as %q", name, clean)
			}
			if again, err := skill.CheckFile(kind, clean); err != nil || again != clean {
				t.Errorf("%q passed as %q, which becomes %q, %v", name, clean, again, err)
			}
		}
	})
}

func TestAttachPairsByName(t *testing.T) {
	plan := func(names ...string) (list []skill.FilePlan) {
		for _, name := range names {
			list = append(list, skill.FilePlan{File: name})
		}
		return list
	}
	many, manyFiles := plan(), map[string]string{}
	for i := range 10 {
		many = append(many, skill.FilePlan{File: fmt.Sprintf("p%d.py", i)})
		manyFiles[fmt.Sprintf("p%d.py", i)] = "x"
	}
	for name, c := range map[string]struct {
		plan       []skill.FilePlan
		returned   map[string]string
		want       string
		degraded   int
		violations int
	}{
		"other spelling of the name": {plan("check"), map[string]string{"scripts/check.py": "x"},
			"[scripts/check.py]", 0, 0},
		"code of the plan": {[]skill.FilePlan{{File: "a.py", Code: "x"}}, nil, "[scripts/a.py]", 0, 0},
		"what was returned wins": {[]skill.FilePlan{{File: "a.py", Code: "x"}}, map[string]string{"a.py": "y"},
			"[scripts/a.py]", 0, 0},
		"empty is not returned": {plan("a.py"), map[string]string{"a.py": " \n"}, "[]", 1, 0},
		"differs in case only": {plan("good.py"), map[string]string{"good.py": "x", "GOOD.py": "y"},
			"[scripts/good.py]", 0, 1},
		"a hostile plan, not returned": {plan("../a.py"), nil, "[]", 0, 1},
		"at most eight": {many, manyFiles, "[scripts/p0.py scripts/p1.py scripts/p2.py " +
			"scripts/p3.py scripts/p4.py scripts/p5.py scripts/p6.py scripts/p7.py]", 0, 2},
		"NUL is not text": {plan("a.py"), map[string]string{"a.py": "x\x00"}, "[]", 0, 1},
		"too large": {plan("a.py"), map[string]string{"a.py": strings.Repeat("x", skill.MaxFile)},
			"[]", 0, 1},
		"nothing planned, one returned": {nil, map[string]string{"a.py": "x"}, "[scripts/a.py]", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			files, degraded, violations := skill.Attach(c.plan, c.returned, skill.Scripts)
			paths := []string{}
			for _, file := range files {
				paths = append(paths, file.Path)
			}
			if fmt.Sprint(paths) != c.want || len(degraded) != c.degraded || len(violations) != c.violations {
				t.Errorf("files %v, degraded %q, violations %q", paths, degraded, violations)
			}
			if name == "what was returned wins" && files[0].Content != "y\n" {
				t.Errorf("content %q", files[0].Content)
			}
		})
	}
}

func TestDecodeFilesReadsEveryShape(t *testing.T) {
	want := map[string]string{"a.py": "x\n", "b.py": "y"}
	for _, reply := range []string{`{"files":[{"file":"a.py","code":"x\n"},{"file":"b.py","code":"y"}]}`,
		`{"a.py":"x\n","b.py":"y"}`,
		`[{"filename":"a.py","content":"x\n"},{"name":"b.py","text":"y"}]`, `{"files":{"a.py":"x\n","b.py":"y"}}`} {
		if got, err := skill.DecodeFiles([]byte(reply)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v", reply, got, err)
		}
	}
	for reply, want := range map[string]string{`{"a.py":7}`: "a.py: want the text of the file, got a number",
		`[{"file":"a"}]`: "files[0]", `7`: "must be an object", `{`: "not valid JSON"} {
		if _, err := skill.DecodeFiles([]byte(reply)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", reply, err, want)
		}
	}
}

func TestZipRefusesWhatCouldHarm(t *testing.T) {
	md := []byte("x")
	var many []skill.File
	for i := range skill.MaxFiles {
		many = append(many, skill.File{Path: fmt.Sprintf("scripts/f%d.py", i), Content: "x\n"})
	}
	big := strings.Repeat("x", skill.MaxFile-1)
	var heavy []skill.File
	for i := range 11 {
		heavy = append(heavy, skill.File{Path: fmt.Sprintf("scripts/f%d.py", i), Content: big})
	}
	for name, c := range map[string]struct {
		folder string
		md     []byte
		files  []skill.File
		code   fault.Code
	}{
		"folder above":    {"..", md, nil, fault.InvalidArgument},
		"no folder":       {"", md, nil, fault.InvalidArgument},
		"folder is here":  {".", md, nil, fault.InvalidArgument},
		"nested folder":   {"a/b", md, nil, fault.InvalidArgument},
		"file above":      {"a", md, []skill.File{{Path: "scripts/../../x.py"}}, fault.InvalidArgument},
		"file at the top": {"a", md, []skill.File{{Path: "SKILL.md"}}, fault.InvalidArgument},
		"another folder":  {"a", md, []skill.File{{Path: "assets/x.py"}}, fault.InvalidArgument},
		"same name twice": {"a", md, []skill.File{{Path: "scripts/x.py"}, {Path: "scripts/X.py"}}, fault.TooLarge},
		"too many files":  {"a", md, many, fault.TooLarge},
		"big SKILL.md":    {"a", bytes.Repeat(md, skill.MaxSkillMD+1), nil, fault.TooLarge},
		"big package":     {"a", md, heavy, fault.TooLarge},
	} {
		if archive, err := skill.Zip(c.folder, c.md, c.files); fault.CodeOf(err) != c.code || archive != nil {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	if _, err := skill.Zip("a", md, many[:skill.MaxFiles-1]); err != nil {
		t.Errorf("49 files and SKILL.md: %v", err)
	}
}

func TestZipOfOneSkillHasOneHash(t *testing.T) {
	document, files := rollback(t)
	archive, err := skill.Zip("service-deployment-rollback", skill.Render(document, skill.RenderOptions{}), files)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := skill.Zip("service-deployment-rollback", skill.Render(document, skill.RenderOptions{}), files[:1])
	if bytes.Equal(archive, other) {
		t.Error("another skill, the same package")
	}
	for range 3 {
		again, _ := skill.Zip("service-deployment-rollback", skill.Render(document, skill.RenderOptions{}), files)
		if !bytes.Equal(archive, again) {
			t.Fatal("packing again gives other bytes")
		}
	}
}
