package skill_test

import (
	"errors"
	"hash/crc32"
	"path/filepath"
	"testing"

	"cairn/internal/fault"
	"cairn/internal/skill"
)

func crc(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }

// FuzzUnpack: no archive makes it panic or take much memory, what it refuses
// it explains, and what it passes can be packed again without loss.
func FuzzUnpack(f *testing.F) {
	document, files := rollback(f)
	archive, err := skill.Zip("service", skill.Render(document, skill.RenderOptions{}), files)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Add(packed(f, entry{name: "s/references/r.md", content: "# R\n", store: true}, entry{name: "s/assets/x.png", content: "\x89"}))
	f.Add(packed(f, entry{name: "../x"}))
	f.Add(packedRaw(f, entry{name: "SKILL.md", content: plainMD}, entry{name: "__MACOSX/._x", content: "\x00"}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		before := allocated()
		got, err := skill.Unpack(archive)
		// Inflated, copied and parsed a few times; a directory entry is 46 bytes and becomes about 500.
		if used := allocated() - before; used > 64<<20+20*uint64(len(archive)) {
			t.Errorf("%d bytes took %d bytes of memory", len(archive), used)
		}
		if err != nil {
			var known *fault.Error
			if !errors.As(err, &known) || known.Hint == "" || known.Code != fault.InvalidArgument && known.Code != fault.TooLarge {
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
			return // escaping made it longer than its original
		}
		folder := skill.Canonical(got.Document.Name)
		got.Document.Name = folder
		again, err := skill.Zip(folder, skill.Render(got.Document, skill.RenderOptions{}), got.Files)
		if err != nil {
			t.Fatalf("cannot be packed again: %v", err)
		}
		if second, err := skill.Unpack(again); err != nil || skill.ContentHash(second.Document, second.Files) != skill.ContentHash(got.Document, got.Files) {
			t.Errorf("packed and unpacked as %+v, %v, want %+v", second, err, got)
		}
	})
}
