package skill_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
)

// exportedAs returns a document as it is exported.
func exportedAs(t *testing.T, d skill.Document, o skill.RenderOptions, files ...skill.File) []byte {
	t.Helper()
	out, err := skill.Zip(skill.Folder(skill.Canonical(d.Name), o.NameStyle), skill.Render(d, o), files)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The package of every skill satisfies the specification.
func TestEveryExportSatisfiesTheAgentSkillsSpecification(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"travel planning", "2024", "yes", "a--b__c", "-x-", "Größe Ändern", "旅行 计划",
		strings.Repeat("long words ", 20), "null", "claude helper", "1e3", "a: b # c"} {
		for _, description := range []string{"Plans a trip. Use when a user travels.", "a: b # c \"quoted\" - 'x'",
			"# no comment", "[not, a, list]", "2024", strings.Repeat("é", 1024), "line\nbreak", "{{secret:X}}"} {
			d := skill.Document{Name: name, Description: description, Procedure: "1. Do it.\n",
				Scripts: []string{"run.py"}, References: []string{"notes.md"}}
			o := skill.RenderOptions{Meta: map[string]string{"cairn.version": "3", "cairn.created": "2026-01-02",
				"on": "yes"}}
			wrong, advice := skill.CheckPortable(exportedAs(t, d, o, skill.File{Path: "scripts/run.py", Content: "x"},
				skill.File{Path: "reference/notes.md", Content: "y"}))
			if len(wrong)+len(advice) > 0 {
				t.Errorf("%.30q, %.30q: %q, %q", name, description, wrong, advice)
			}
		}
	}
	wrong, _ := skill.CheckPortable(exportedAs(t, skill.Document{Name: "travel planning", Description: "x"},
		skill.RenderOptions{NameStyle: skill.Underscore}))
	if len(wrong) != 1 || !strings.Contains(wrong[0], `"travel_planning" is not lower-case letters`) {
		t.Errorf("the other style: %q", wrong)
	}
	d := skill.Document{Name: "long", Description: "x", Procedure: strings.Repeat("Do something again.\n", 1200)}
	if wrong, advice := skill.CheckPortable(exportedAs(t, d, skill.RenderOptions{})); len(wrong) != 0 ||
		len(advice) != 2 {
		t.Errorf("a long body: %q, %q", wrong, advice)
	}
}

func TestWhatBreaksTheAgentSkillsSpecificationIsNamed(t *testing.T) {
	t.Parallel()
	head := func(fields string) map[string]string {
		return map[string]string{"ok/SKILL.md": "---\n" + fields + "\n---\n\nDo it.\n"}
	}
	const good = "name: ok\ndescription: Does it."
	for want, files := range map[string]map[string]string{
		"no SKILL.md":             {"SKILL.md": "---\n" + good + "\n---\n"},
		"no frontmatter":          {"ok/SKILL.md": "Do it."},
		"invalid YAML":            head("name: [ok"),
		"name is not text":        head("name: 3\ndescription: x"),
		"lower-case":              head("name: Ok\ndescription: x"),
		"single hyphens":          head("name: o--k\ndescription: x"),
		"differs from the folder": head("name: other\ndescription: x"),
		"description is not text": head("name: ok"),
		"1025 characters":         head("name: ok\ndescription: " + strings.Repeat("x", 1025)),
		"65 characters":           head("name: " + strings.Repeat("x", 65) + "\ndescription: x"),
		"501 characters":          head(good + "\ncompatibility: " + strings.Repeat("x", 501)),
		"field \"version\"":       head(good + "\nversion: 3"),
		"metadata is not a map":   head(good + "\nmetadata: 3"),
		"metadata.a is not text":  head(good + "\nmetadata: {a: 3}"),
		"outside of the folder":   {"ok/SKILL.md": head(good)["ok/SKILL.md"], "other/x": "y"},
	} {
		if wrong, _ := skill.CheckPortable(zipped(t, files)); len(wrong) == 0 ||
			!strings.Contains(strings.Join(wrong, "; "), want) {
			t.Errorf("%s: %q", want, wrong)
		}
	}
	deep := head(good)
	deep["ok/references/a/b.md"] = "x"
	deep["ok/SKILL.md"] += "See [it](references/gone.md) and [that](https://example.com/x.md).\n"
	if wrong, advice := skill.CheckPortable(zipped(t, deep)); len(wrong) != 0 ||
		fmt.Sprint(advice) != "[SKILL.md refers to references/gone.md, which is not in the package "+
			"references/a/b.md is more than one level deep]" {
		t.Errorf("%q, %q", wrong, advice)
	}
	if wrong, _ := skill.CheckPortable([]byte("no zip")); len(wrong) != 1 {
		t.Errorf("%q", wrong)
	}
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
