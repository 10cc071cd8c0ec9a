package intake_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"cairn/internal/domain/fault"
	"cairn/internal/service/intake"
	"cairn/internal/testkit"
)

const (
	hello = `[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]`
	bye   = `[{"role":"user","content":"bye"}]`
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	return b.String()
}

func zstandard(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	testkit.Must(t, err)
	_, err = io.WriteString(w, text)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	return b.String()
}

func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		testkit.Must(t, err)
		_, err = io.WriteString(f, files[i+1])
		testkit.Must(t, err)
	}
	testkit.Must(t, w.Close())
	return b.String()
}

// read returns the files and messages that a reader finds.
func read(r *intake.Reader, name, data string) (files []string, messages int, err error) {
	err = r.Read(name, strings.NewReader(data), func(f intake.File) error {
		files = append(files, f.Name)
		for _, c := range f.Result.Conversations {
			messages += len(c.Messages)
		}
		return nil
	})
	return files, messages, err
}

func TestCompressedFilesAndArchivesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		data, files string
		messages    int
	}{
		"a.json":     {hello, "a.json", 2},
		"a.json.gz":  {gzipped(t, hello), "a.json", 2},
		"a.json.zst": {zstandard(t, hello), "a.json", 2},
		"a.zip": {zipped(t, "x/a.json", hello, "x/b.json.gz", gzipped(t, bye), "x/pic.png", "PNG", "user.json", "{}"),
			"x/a.json x/b.json", 3},
	} {
		r := intake.Reader{}
		files, messages, err := read(&r, name, c.data)
		if err != nil || strings.Join(files, " ") != c.files || messages != c.messages {
			t.Errorf("%s: files %q, %d messages, %v", name, files, messages, err)
		}
		if name == "a.zip" && r.Report.Skipped["file without sessions"] != 2 {
			t.Errorf("%s: %s", name, r.Report)
		}
	}
}

func TestDamagedAndNestedArchivesAreRefused(t *testing.T) {
	cut := gzipped(t, strings.Repeat(hello, 100))
	for name, c := range map[string]struct{ data, want string }{
		"cut.json.gz": {cut[:len(cut)-6], "damaged compressed data"},
		"bad.zst":     {"\x28\xb5\x2f\xfd\xff\xff\xff\xff", "damaged compressed data"},
		"bad.zip":     {"PK\x03\x04nothing", "damaged compressed data"},
		"nested.zip":  {zipped(t, "a.zip", zipped(t, "b.json", hello)), "an archive in an archive"},
		"thrice.gz":   {gzipped(t, gzipped(t, gzipped(t, hello))), "compressed several times"},
		"none.zip":    {zipped(t, "pic.png", "PNG"), "no sessions"},
	} {
		_, _, err := read(&intake.Reader{}, name, c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestACompressedFileCannotExceedTheLimit(t *testing.T) {
	bomb := "user: " + strings.Repeat("x", 4<<20)
	for name, data := range map[string]string{"a.txt.gz": gzipped(t, bomb), "a.txt.zst": zstandard(t, bomb),
		"a.zip": zipped(t, "a.txt", bomb)} {
		_, _, err := read(&intake.Reader{Options: intake.Options{Limit: 1 << 20}}, name, data)
		if fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFoldersAreReadOnceAndUnknownFilesAreCounted(t *testing.T) {
	folder := fstest.MapFS{"a.json": {Data: []byte(hello)}, "b/copy.json": {Data: []byte(hello)},
		"b/other.json": {Data: []byte(bye)}, "b/plan.json": {Data: []byte(`{"steps": 3}`)},
		".git/x.json": {Data: []byte(bye)}, "b/.hidden.json": {Data: []byte(bye)}}
	r := intake.Reader{}
	conversations := 0
	err := r.Folder(t.Context(), folder, "sessions", func(f intake.File) error {
		conversations += len(f.Result.Conversations)
		return nil
	})
	if err != nil || conversations != 2 {
		t.Fatalf("%d conversations, %v", conversations, err)
	}
	if s := r.Report.Skipped; s["repeated conversation"] != 1 || s["file of an unknown format"] != 1 ||
		s["file without sessions"] != 1 || len(r.Report.Warnings) != 1 {
		t.Errorf("%s", r.Report)
	}
}
