package skill_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// Members that would leave the folder, or are not files.
func TestUnpackRefusesHostileMembers(t *testing.T) {
	for name, c := range map[string]struct {
		entry entry
		want  string
	}{
		"above":            {entry{name: "../x.py"}, "leaves the package"},
		"above inside":     {entry{name: "s/../../x.py"}, "leaves the package"},
		"above at the end": {entry{name: "s/scripts/.."}, "leaves the package"},
		"absolute":         {entry{name: "/etc/x.py"}, "absolute"},
		"drive":            {entry{name: "C:x.py"}, "absolute"},
		"drive, slash":     {entry{name: "c:/x.py"}, "absolute"},
		"stream":           {entry{name: "s/scripts/x.py:evil"}, "not clean"},
		"backslash":        {entry{name: `s\x.py`}, "backslash"},
		"backslash above":  {entry{name: `..\x.py`}, "backslash"},
		"not clean":        {entry{name: "s//x.py"}, "not clean"},
		"dot":              {entry{name: "./s/x.py"}, "not clean"},
		"NUL":              {entry{name: "s/x\x00.py"}, "invisible"},
		"bidi":             {entry{name: "s/x\u202eyp.sh"}, "invisible"},
		"not UTF-8":        {entry{name: "s/\xff.py"}, "not UTF-8"},
		"long":             {entry{name: "s/" + strings.Repeat("x/", 130)}, "longer than 255"},
		"symlink": {entry{name: "s/scripts/x.py", content: "/etc/passwd", mode: fs.ModeSymlink},
			"symbolic link"},
		"device": {entry{name: "s/scripts/x.py", mode: fs.ModeDevice | fs.ModeCharDevice},
			"not a regular file"},
		"pipe":           {entry{name: "s/scripts/x.py", mode: fs.ModeNamedPipe}, "not a regular file"},
		"setuid":         {entry{name: "s/scripts/x.py", mode: fs.ModeSetuid}, "not a regular file"},
		"folder as file": {entry{name: "s/scripts/x", mode: fs.ModeDir}, "not a regular file"},
		"link as folder": {entry{name: "s/scripts/", mode: fs.ModeSymlink}, "symbolic link"},

		"same name":             {entry{name: "s/SKILL.md"}, "another member"},
		"same but for case":     {entry{name: "S/skill.MD"}, "another member"},
		"file and folder":       {entry{name: "s/SKILL.md/x.md"}, "a file and a folder"},
		"second root":           {entry{name: "other/SKILL.md"}, "another SKILL.md"},
		"second root, deeper":   {entry{name: "s/reference/SKILL.md"}, "another SKILL.md"},
		"folder is a space":     {entry{name: " /x.py"}, "outside of the skill's folder"}, // once an endless loop
		"outside of the folder": {entry{name: "README.md"}, "outside of the skill's folder"},

		"extension of a script": {entry{name: "s/scripts/x.exe"}, `".exe" is not allowed`},
		"extension elsewhere":   {entry{name: "s/assets/x.dll"}, `".dll" is not allowed`},
		"ELF program": {entry{name: "s/assets/tool", content: "\x7fELF\x02\x01\x01\x00"},
			"compiled program (ELF)"},
		"PE program": {entry{name: "s/assets/a.zip", content: "MZ\x90\x00\x03\x00"},
			"compiled program (PE)"},
		"Mach-O program": {entry{name: "s/scripts/a.py", content: "\xcf\xfa\xed\xfe\x07\x00"},
			"compiled program (Mach-O)"},
		"program of macOS": {entry{name: "__MACOSX/s/._a", content: "\xca\xfe\xba\xbe\x00\x00\x00\x02"},
			"compiled program (Mach-O)"},
		"hidden":              {entry{name: "s/.env"}, "leading dot"},
		"hidden script":       {entry{name: "s/scripts/.x.py"}, "leading dot"},
		"shadow that is none": {entry{name: "__MACOSX/x.py"}, "outside of the skill's folder"},
		"device of Windows":   {entry{name: "s/assets/con.txt"}, "reserved"},
		"script is not text":  {entry{name: "s/scripts/x.py", content: "\xff\xfe"}, "not UTF-8 text"},
		"reference with NUL":  {entry{name: "s/references/x.md", content: "a\x00"}, "not UTF-8 text"},
		"name with a space":   {entry{name: "s/scripts/a b.py"}, "' ' is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			shown := fmt.Sprintf("%q", c.entry.name)
			if len(c.entry.name) > 80 {
				shown = ""
			}
			if strings.Contains(c.want, "another SKILL.md") || strings.Contains(c.want, "a file and") {
				shown = "SKILL.md"
			}
			refused(t, packed(t, c.entry), fault.InvalidArgument, c.want, shown)
		})
	}
	for name, entries := range map[string][]entry{
		"no SKILL.md": {{name: "s/README.md"}},
		"it is lower": {{name: "s/skill.md", content: plainMD}},
		"too deep":    {{name: "a/b/SKILL.md", content: plainMD}},
		"as a folder": {{name: "s/SKILL.md/"}},
		"two folders": {{name: "s/SKILL.md", content: plainMD}, {name: "s/reference/x.md"},
			{name: "s/references/X.md"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, packedRaw(t, entries...), fault.InvalidArgument) })
	}
}

func TestUnpackRefusesWhatIsTooLarge(t *testing.T) {
	many := func(n int) (list []entry) {
		for i := range n {
			list = append(list, entry{name: fmt.Sprintf("s/reference/f%d.md", i), content: "x\n"})
		}
		return list
	}
	if _, err := skill.Unpack(packed(t, many(skill.MaxFiles-1)...)); err != nil {
		t.Errorf("50 files: %v", err)
	}
	refused(t, packed(t, many(skill.MaxFiles)...), fault.TooLarge, "51 files")
	refused(t, packed(t, many(1000)...), fault.TooLarge, "1001 members")
	refused(t, packed(t, entry{name: "s/reference/x.md", content: randomLetters(skill.MaxFile + 1)}), fault.TooLarge,
		`"s/reference/x.md"`, "524289 bytes")
	refused(t, packed(t, entry{name: "s/reference/x.md", content: strings.Repeat("x", skill.MaxFile)}), fault.TooLarge,
		"inflates")
	var heavy []entry
	for i := range 11 {
		heavy = append(heavy, entry{name: fmt.Sprintf("s/assets/f%d.md", i),
			content: strings.Repeat(randomLetters(1<<12), 125)})
	}
	refused(t, packed(t, heavy...), fault.TooLarge, "more than 5242880 bytes")
	refused(t, make([]byte, skill.MaxPackage+1), fault.TooLarge, "5242881 bytes")
	// The maximum number of small files passes the checks of the archive, but not the limit of the
	// skill.
	refused(t, packed(t, append(heavy[:10], entry{name: "s/assets/last.md", content: randomLetters(122 << 10)})...),
		fault.TooLarge, "5242880")
}

// A bomb is rejected by its claimed size, or limited to it.
func TestUnpackHoldsMembersToTheirClaims(t *testing.T) {
	const name = "s/reference/bomb.md"
	ten := packed(t, entry{name: name, content: strings.Repeat("\x00", 4<<20)})
	refused(t, bytes.Clone(ten), fault.TooLarge, name, "4194304 bytes")
	for _, claim := range []uint32{0, 1, 4000, skill.MaxFile} {
		before := allocated()
		refused(t, claimed(t, bytes.Clone(ten), name, claim), fault.InvalidArgument, "bomb.md", "damaged")
		if used := allocated() - before; used > 4<<20 {
			t.Errorf("a bomb that claims %d bytes took %d bytes of memory", claim, used)
		}
	}
	refused(t, claimed(t, packed(t, entry{name: name, content: "short\n"}), name, 60000), fault.InvalidArgument,
		"bomb.md", "damaged")
	huge := claimed(t, bytes.Clone(ten), name, 0xFFFFFFFF)
	refused(t, huge, fault.TooLarge, "bomb.md")
}

// allocated returns the total number of allocated bytes, without stopping the world.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Programs that read the other header, or skip to a second archive, would see other content than
// was checked.
func TestUnpackRefusesArchivesWithTwoMeanings(t *testing.T) {
	whole := packed(t, entry{name: "s/scripts/a.py", content: "pass\n"})
	for name, change := range map[string]func(archive []byte) []byte{
		"other local name": func(a []byte) []byte {
			i := bytes.Index(a, []byte("s/scripts/a.py"))
			copy(a[i:], "../scripts/a.p")
			return a
		},
		"something before": func(a []byte) []byte { return append([]byte("#!/bin/sh\nexit\n"), a...) },
		"something between": func(a []byte) []byte { // members and directory
			end := a[len(a)-22:]
			at := binary.LittleEndian.Uint32(end[16:])
			binary.LittleEndian.PutUint32(end[16:], at+6)
			return slices.Insert(a, int(at), []byte("hidden")...)
		},
		"encrypted": func(a []byte) []byte {
			directory(t, a, "s/scripts/a.py")[8] |= 1
			return a
		},
		"unknown method": func(a []byte) []byte {
			binary.LittleEndian.PutUint16(directory(t, a, "s/scripts/a.py")[10:], 14)
			return a
		},
		"wrong checksum": func(a []byte) []byte {
			directory(t, a, "s/scripts/a.py")[16] ^= 1
			return a
		},
		"cut off": func(a []byte) []byte { return a[:len(a)-30] },
		"empty":   func([]byte) []byte { return nil },
		"one member twice": func(a []byte) []byte { // two names for the same bytes, as bombs do
			to, from := directory(t, a, "s/scripts/a.py"), directory(t, a, "s/SKILL.md")
			copy(to[10:28], from[10:28])
			copy(to[42:46], from[42:46])
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, change(bytes.Clone(whole)), fault.InvalidArgument)
		})
	}
	if _, err := skill.Unpack(whole); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// Packages of other tools: no descriptors, with folders, with a comment at the end.
func TestUnpackReadsOtherToolsArchives(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	out, err := w.CreateRaw(&zip.FileHeader{Name: "SKILL.md", CompressedSize64: uint64(len(plainMD)),
		UncompressedSize64: uint64(len(plainMD)), CRC32: crc(plainMD)})
	if err == nil {
		_, err = out.Write([]byte(plainMD))
	}
	if err == nil {
		err = w.SetComment("made elsewhere")
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := skill.Unpack(archive.Bytes()); err != nil || got.Document.Name != "probe" {
		t.Errorf("got %+v, %v", got, err)
	}
}
