package skill_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func ExampleUnpack() {
	markdown := []byte("---\nname: probe\ndescription: >\n  Probe a\n  service\n---\n## Procedure\nRun it.\n")
	archive, _ := skill.Zip("probe", markdown, []skill.File{{Path: "scripts/probe.sh", Content: "curl -f $1\n"}})
	unpacked, err := skill.Unpack(archive)
	fmt.Printf("%q %q %v %v\n", unpacked.Folder, unpacked.Document.Description, unpacked.Document.Scripts, err)
	_, err = skill.Unpack([]byte("not a zip"))
	fmt.Println(fault.CodeOf(err), "·", fault.From(err).Hint)
	// Output:
	// "probe" "Probe a service" [probe.sh] <nil>
	// invalid_argument · pack the skill's folder as .zip and send that file
}

// Packages of other tools are read completely.
func TestAC17UnpackReadsThirdPartyPackages(t *testing.T) {
	long := strings.Repeat("A procedure of more than twenty characters. ", 500)
	for name, md := range map[string]string{
		"quoted description": "---\nname: \"pdf-tools\"\ndescription: 'Work with: \"PDF\" files, it''s easy'\n" +
			"license: MIT\n---\n# PDF\n\n## Procedure\n" + long + "\n\n## Advanced\n### Example 1\nkept\n",
		"block scalar": "\ufeff---\r\nname: pdf-tools\r\ndescription: |-\r\n  Work with: \"PDF\" files,\r\n  " +
			"it's easy\r\n---\r\n# PDF\r\n\r\n## Procedure\r\n" + long +
			"\r\n\r\n## Advanced\r\n### Example 1\r\nkept\r\n",
	} {
		for _, folder := range []string{"", "PDF Tools/"} {
			got, err := skill.Unpack(packedRaw(t,
				entry{name: "__MACOSX/", mode: 0}, entry{name: "__MACOSX/._SKILL.md", content: "\x00\x05\x16\x07"},
				entry{name: folder + "scripts/"},
				entry{name: folder + "scripts/fill.sh", content: "#!/bin/sh\r\necho " + long + "\r\n", mode: 0o111},
				entry{name: folder + "scripts/lib/deep.py", content: "pass\n"},
				entry{name: folder + "references/forms.md", content: "# 表单\n" + long, store: true},
				entry{name: folder + "reference/more.json", content: "{}"},
				entry{name: folder + "assets/logo.png", content: "\x89PNG\x00\xff"},
				entry{name: folder + "LICENSE", content: "MIT\n"},
				entry{name: folder + ".DS_Store", content: "\x00"},
				entry{name: folder + "SKILL.md", content: md}))
			if err != nil {
				t.Fatalf("%s in %q: %v", name, folder, err)
			}
			d := got.Document
			if got.Folder != strings.TrimSuffix(folder, "/") || d.Name != "pdf-tools" ||
				d.Description != `Work with: "PDF" files, it's easy` || got.Markdown != md ||
				d.Intro != "# PDF" || d.Procedure != strings.TrimSpace(long) ||
				d.Sections[0].Body != "### Example 1\nkept" {
				t.Errorf("%s in %q: got %+v", name, folder, d)
			}
			want := []skill.File{{"reference/forms.md", "# 表单\n" + long + "\n"}, {"reference/more.json", "{}\n"},
				{"scripts/fill.sh", "#!/bin/sh\necho " + long + "\n"}}
			if !reflect.DeepEqual(got.Files, want) ||
				!reflect.DeepEqual(d.References, []string{"forms.md", "more.json"}) ||
				!reflect.DeepEqual(d.Scripts, []string{"fill.sh"}) {
				t.Errorf("files %+v, references %v, scripts %v", got.Files, d.References, d.Scripts)
			}
			var others []string
			for _, f := range got.Extra {
				others = append(others, f.Path)
			}
			if strings.Join(others, " ") !=
				".DS_Store LICENSE __MACOSX/._SKILL.md assets/logo.png scripts/lib/deep.py" {
				t.Errorf("others: %v", others)
			}
		}
	}
}

// Unpacking a rendered and packed skill returns every field.
func TestUnpackIsTheInverseOfRenderAndZip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	first, firstFiles := rollback(t)
	documents, files := []skill.Document{first}, [][]skill.File{firstFiles}
	for range 60 {
		documents = append(documents, skill.Document{Description: "d " + randomText(r), Intro: randomText(r),
			WhenToUse: randomText(r),
			Trigger:   randomTexts(r), Procedure: "p " + randomText(r), Pitfalls: randomText(r),
			Verification: randomText(r),
			Experience:   randomTexts(r), Preference: randomTexts(r), Examples: randomTexts(r), Tools: randomTexts(r),
			Sections: []skill.Section{{Title: "Notes", Body: randomText(r)}},
			Others:   []skill.Entry{{Key: "Key", Text: randomText(r)}}})
		files = append(files, []skill.File{{Path: "reference/a.json", Content: "{}\n"},
			{Path: "reference/检查.md", Content: "汉字\n"}, {Path: "scripts/b.sh", Content: "x\n"}}[:r.IntN(4)])
	}
	for i, d := range documents {
		d.Name = "service-rollback"
		d = d.WithFiles(files[i])
		archive, err := skill.Zip(d.Name, skill.Render(d, skill.RenderOptions{}), files[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := skill.Unpack(archive)
		if err != nil {
			t.Fatalf("document %d: %v", i, err)
		}
		if !reflect.DeepEqual(got.Document, d) || len(got.Files)+len(files[i]) > 0 &&
			!reflect.DeepEqual(got.Files, files[i]) || got.Extra != nil || got.Notes != nil {
			t.Errorf("document %d:\ngot  %+v\nwant %+v", i, got, d)
		}
	}
}

func TestUnpackNotesFilesThatAreMissing(t *testing.T) {
	md := plainMD + "\n## Scripts\n- `./scripts/a.py`\n- `./scripts/gone.py`\n\n## Additional Information\nSee " +
		"also:\n- [gone.md](./reference/gone.md)\n"
	got, err := skill.Unpack(packedRaw(t, entry{name: "SKILL.md", content: md},
		entry{name: "scripts/a.py", content: "pass\n"}))
	want := []string{"SKILL.md lists reference/gone.md, which is not in the package",
		"SKILL.md lists scripts/gone.py, which is not in the package"}
	if err != nil || !reflect.DeepEqual(got.Notes, want) ||
		!reflect.DeepEqual(got.Document.Scripts, []string{"a.py"}) || got.Document.References != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnpackSaysWhatIsWrongInSkillMD(t *testing.T) {
	for name, c := range map[string]struct {
		md   string
		code fault.Code
		want string
	}{
		"no frontmatter":   {"# Title\n", fault.InvalidArgument, "name is empty; description has 0 characters"},
		"no body":          {"---\nname: a\ndescription: b\n---\n", fault.InvalidArgument, "body has 0 bytes"},
		"broken YAML":      {"---\nname: a\ndescription: b: c\n---\nx\n", fault.InvalidArgument, "line 3"},
		"open frontmatter": {"---\nname: a\n", fault.InvalidArgument, "not closed"},
		"description too long": {"---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\nx\n",
			fault.InvalidArgument, "1025 characters"},
		"name too long": {"---\nname: " + strings.Repeat("x", 81) + "\ndescription: b\n---\nx\n",
			fault.InvalidArgument, "81 characters"},
		"not UTF-8": {plainMD + "\xff", fault.InvalidArgument, "UTF-8"},
		"NUL":       {plainMD + "\x00", fault.InvalidArgument, "UTF-8"},
		"too large": {plainMD + randomLetters(skill.MaxSkillMD), fault.TooLarge, "at most 102400"},
		"a section 500 times": {plainMD + strings.Repeat("\n## Trigger\n- a\n", 500), fault.InvalidArgument,
			`"Trigger"`},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, packedRaw(t, entry{name: "SKILL.md", content: c.md}), c.code, "SKILL.md", c.want)
		})
	}
}

// randomLetters returns letters that do not compress well.
func randomLetters(n int) string {
	r := rand.New(rand.NewPCG(3, 0))
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = 'a' + byte(r.IntN(26))
	}
	return string(letters)
}
