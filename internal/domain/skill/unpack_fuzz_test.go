package skill_test

import (
	"errors"
	"hash/crc32"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func crc(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }

// FuzzUnpack changes the bytes of archives.
func FuzzUnpack(f *testing.F) {
	document, files := rollback(f)
	archive, err := skill.Zip("service", skill.Render(document, skill.RenderOptions{}), files)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Add(packed(f, entry{name: "s/references/r.md", content: "# R\n", store: true},
		entry{name: "s/assets/x.png", content: "\x89"}))
	f.Add(packed(f, entry{name: "../x"}))
	f.Add(packedRaw(f, entry{name: "SKILL.md", content: plainMD}, entry{name: "__MACOSX/._x", content: "\x00"}))
	f.Fuzz(checkUnpack)
}

// FuzzUnpackMembers packs unusual names and texts in valid archives.
func FuzzUnpackMembers(f *testing.F) {
	f.Add("scripts/a.py", plainMD, "pass\n", false)
	f.Add("references/检查.md", "---\nname: a\ndescription: |\n  b\n---\nx\n## Scripts\n- `./scripts/a.py`\n", "x\r\n",
		true)
	f.Add(" /SKILL.md", plainMD, "", true)
	f.Add("reference/a.md", plainMD, "old\rMac\r\r\n\r", false)
	f.Fuzz(func(t *testing.T, name, markdown, content string, folder bool) {
		if len(name) > 1<<10 || len(markdown)+len(content) > 1<<20 {
			return
		}
		entries := []entry{{name: "SKILL.md", content: markdown}, {name: name, content: content}}
		if folder {
			entries[0].name, entries[1].name = "s/"+entries[0].name, "s/"+name
		}
		if strings.HasSuffix(entries[1].name, "/") {
			entries[1].content = "" // archive/zip writes no content for a folder
		}
		checkUnpack(t, packedRaw(t, entries...))
	})
}

// checkUnpack checks that Unpack does not panic or use much memory, explains each rejection, and
// that an accepted package can be packed again without loss.
func checkUnpack(t *testing.T, archive []byte) {
	before := allocated()
	got, err := skill.Unpack(archive)
	// Content is inflated, copied and parsed a few times. A directory entry has 46 bytes and
	// becomes about 500.
	if used := allocated() - before; used > 64<<20+20*uint64(len(archive)) {
		t.Errorf("%d bytes took %d bytes of memory", len(archive), used)
	}
	if err != nil {
		var known *fault.Error
		if !errors.As(err, &known) || known.Hint == "" || known.Code != fault.InvalidArgument &&
			known.Code != fault.TooLarge {
			t.Errorf("refused without saying why: %v", err)
		}
		return
	}
	for _, file := range append(got.Files, got.Extra...) {
		if !filepath.IsLocal(file.Path) {
			t.Errorf("file %q", file.Path)
		}
	}
	if len(skill.Render(got.Document, skill.RenderOptions{})) > skill.MaxSkillMD {
		return // escaping made it longer than the original
	}
	got.Document.Name = skill.Canonical(got.Document.Name)
	again, err := skill.Zip(got.Document.Name, skill.Render(got.Document, skill.RenderOptions{}), got.Files)
	if err != nil {
		t.Fatalf("cannot be packed again: %v", err)
	}
	if second, err := skill.Unpack(again); err != nil ||
		skill.ContentHash(second.Document, second.Files) != skill.ContentHash(got.Document, got.Files) {
		t.Errorf("packed and unpacked as %+v, %v, want %+v", second, err, got)
	}
}
