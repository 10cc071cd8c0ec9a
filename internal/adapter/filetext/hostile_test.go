package filetext_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/filetext"
	"cairn/internal/testkit"
)

// objects returns a PDF file with the given objects, of which the first is the catalog.
func objects(bodies ...string) []byte {
	var out bytes.Buffer
	var at []int
	out.WriteString("%PDF-1.4\n")
	for i, body := range bodies {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return out.Bytes()
}

// packed returns a stream object that inflates to n bytes of a text.
func packed(t *testing.T, header, text string, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	for range n / len(text) {
		_, err := io.WriteString(w, text)
		testkit.Must(t, err)
	}
	testkit.Must(t, w.Close())
	return fmt.Sprintf("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", header, out.Len(),
		out.String())
}

// archive returns a zip with one member that inflates to n bytes.
func archive(t *testing.T, name, begin, text string, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	testkit.Must(t, err)
	_, err = io.WriteString(w, begin)
	testkit.Must(t, err)
	for range n / len(text) {
		_, err = io.WriteString(w, text)
		testkit.Must(t, err)
	}
	testkit.Must(t, z.Close())
	return out.Bytes()
}

// hostile are files for which a parser does not end, takes all memory, or overflows its stack.
func hostile(t *testing.T) map[string]func() []byte {
	const catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	page := "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
	one := "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	font := "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	members := func() []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := range 200_000 {
			_, err := z.CreateHeader(&zip.FileHeader{Name: strconv.Itoa(i)})
			testkit.Must(t, err)
		}
		testkit.Must(t, z.Close())
		return out.Bytes()
	}
	table := "%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Prev 9 >>\n" + strings.Repeat(" ", 100) +
		"\nstartxref\n9\n%%EOF\n"
	size := "%PDF-1.5\n1 0 obj\n<< /Type /XRef /Size 900000000 /W [1 2 1] /Length 0 >>\nstream\n\nendstream\nendobj\n" +
		"startxref\n9\n%%EOF\n"
	text := "BT /F1 12 Tf (" + strings.Repeat("word ", 1000) + ") Tj ET\n"
	return map[string]func() []byte{
		"pages without end": func() []byte {
			return objects(catalog, "<< /Type /Pages /Kids [] /Count 4611686018427387904 >>")
		},
		"page tree is a circle": func() []byte {
			return objects(catalog, "<< /Type /Pages /Kids [2 0 R] /Count 1000000000 >>")
		},
		"cross references loop": func() []byte { return []byte(table) },
		"length is itself": func() []byte {
			return objects(catalog, one, page, "<< /Length 4 0 R >>\nstream\nBT ET\nendstream", font)
		},
		"nested arrays":       func() []byte { return objects(catalog, strings.Repeat("[", 8<<20)) },
		"nested dictionaries": func() []byte { return objects(catalog, strings.Repeat("<< /A ", 2<<20)) },
		"huge table":          func() []byte { return []byte(size) },
		"page inflates":       func() []byte { return objects(catalog, one, page, packed(t, "", text, 1<<30), font) },
		"page of zeros inflates": func() []byte {
			return objects(catalog, one, page, packed(t, "", strings.Repeat("\x00", 1<<20), 1<<30), font)
		},
		"nested operands": func() []byte {
			return objects(catalog, one, page, packed(t, "", strings.Repeat("[", 1<<20), 256<<20), font)
		},
		"document inflates": func() []byte {
			return archive(t, "word/document.xml", "<a>", strings.Repeat(" ", 1<<20), 1<<30)
		},
		"elements are nested": func() []byte {
			return archive(t, "word/document.xml", "", strings.Repeat("<a>", 1<<18), 1<<30)
		},
		"one long attribute": func() []byte {
			return archive(t, "word/document.xml", `<a b="`, strings.Repeat("x", 1<<20), 1<<30)
		},
		"many members": members,
	}
}

// A hostile file costs a process of its own, and at most its limits. The next file is read.
func TestHostileFilesEnd(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ends(t, hostile(t))
}

// The first two were found by attackers: they have 250 bytes.
func TestSmallFilesWithoutEndAreStopped(t *testing.T) {
	t.Parallel()
	all := hostile(t)
	few := map[string]func() []byte{}
	for _, name := range []string{"pages without end", "page tree is a circle", "huge table", "nested arrays"} {
		few[name] = all[name]
	}
	ends(t, few)
}

func ends(t *testing.T, files map[string]func() []byte) {
	t.Helper()
	parses(t)
	built := map[string][]byte{}
	for name, file := range files {
		built[name] = file()
	}
	debug.FreeOSMemory() // what building the files took is not what reading them takes
	before := resident(t)
	var all sync.WaitGroup
	for name, raw := range built {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(files))*5*15*time.Second) // two at once
			defer cancel()
			text, err := filetext.Of(ctx, raw)
			if ctx.Err() != nil {
				t.Errorf("%s: not ended after five times its limit", name)
			}
			t.Logf("%s (%d bytes): %d characters, %v", name, len(raw), len(text), err)
			if len(text) > 1<<20 {
				t.Errorf("%s: %d characters", name, len(text))
			}
		})
	}
	all.Wait()
	grown := resident(t) - before
	t.Logf("this process has grown by %d MiB", grown>>20)
	if grown > 256<<20 {
		t.Errorf("this process has grown by %d MiB", grown>>20)
	}
	if text, err := filetext.Of(t.Context(), page("Still here")); err != nil || !strings.Contains(text, "Still here") {
		t.Errorf("the next file: %q, %v", text, err)
	}
}

// resident returns the resident memory of this process in bytes; 0 where there is no /proc.
func resident(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	testkit.Must(t, err)
	return n << 10
}
