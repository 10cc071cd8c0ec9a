package skill_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

const plainMD = "---\nname: probe\ndescription: Probe a service\n---\n\n## Procedure\nProbe it.\n"

// entry is a member to pack. Only the name is required.
type entry struct {
	name    string
	content string
	mode    fs.FileMode // 0: a regular file
	store   bool        // without compression
}

// packed returns an archive as a common tool writes it, with SKILL.md in the folder s.
func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	return packedRaw(t, append([]entry{{name: "s/SKILL.md", content: plainMD}}, entries...)...)
}

func packedRaw(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.store || strings.HasSuffix(e.name, "/") {
			header.Method = zip.Store
		}
		header.SetMode(0o644 | e.mode)
		out, err := w.CreateHeader(header)
		if err == nil {
			_, err = out.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// directory returns the directory header of a member, to change it.
func directory(t testing.TB, archive []byte, name string) []byte {
	t.Helper()
	for at := 0; ; at++ {
		i := bytes.Index(archive[at:], []byte("PK\x01\x02"))
		if i < 0 {
			t.Fatalf("no member %q", name)
		}
		at += i
		header := archive[at:]
		if n := int(binary.LittleEndian.Uint16(header[28:])); string(header[46:46+n]) == name {
			return header
		}
	}
}

// claimed changes the inflated size that the directory claims for a member.
func claimed(t testing.TB, archive []byte, name string, size uint32) []byte {
	t.Helper()
	binary.LittleEndian.PutUint32(directory(t, archive, name)[24:], size)
	return archive
}

// refused checks that an archive is rejected with a code, the given texts and a hint.
func refused(t *testing.T, archive []byte, code fault.Code, want ...string) {
	t.Helper()
	got, err := skill.Unpack(archive)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || f.Hint == "" || f.Hint == fault.Table[code].Hint {
		t.Errorf("got %+v, %v, want %s with a hint of its own", got, err, code)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, want %q in it", err, w)
		}
	}
}
