package filetext_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/adapter/filetext"
	"cairn/internal/testkit"
)

// docx returns a document with paragraphs, as Word writes them.
func docx(t *testing.T, paragraphs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("word/document.xml")
	testkit.Must(t, err)
	fmt.Fprint(w, `<?xml version="1.0"?><w:document xmlns:w="x"><w:body>`)
	for _, p := range paragraphs {
		fmt.Fprintf(w, `<w:p><w:r><w:t>%s</w:t></w:r><w:r><w:t xml:space="preserve"> end</w:t></w:r></w:p>`, p)
	}
	fmt.Fprint(w, `</w:body></w:document>`)
	testkit.Must(t, z.Close())
	return out.Bytes()
}

// page returns a PDF file with one line.
func page(text string) []byte {
	var out bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R " +
		"/Resources << /Font << /F1 5 0 R >> >> >>")
	stream := "BT /F1 12 Tf 10 50 Td (" + text + ") Tj ET"
	object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return out.Bytes()
}

func TestFilesAreRead(t *testing.T) {
	parses(t)
	t.Parallel()
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"text": {[]byte("Hello\nWorld"), "Hello\nWorld"},
		"docx": {docx(t, "First", "Second"), "First end\nSecond end\n"},
		"pdf":  {page("Hello from a page"), "Hello from a page"},
	} {
		got, err := filetext.Of(t.Context(), c.raw)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	_, err := z.Create("readme.txt")
	testkit.Must(t, err)
	testkit.Must(t, z.Close())
	for name, raw := range map[string][]byte{"image": []byte("\x89PNG\r\n\x1a\n"), "archive": archive.Bytes(),
		"binary": {0, 1, 2, 3, 255}} {
		if text, err := filetext.Of(t.Context(), raw); !errors.Is(err, filetext.ErrUnknown) || text != "" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	broken := page("x")
	for _, cut := range []int{20, 100, len(broken) - 40} {
		if _, err := filetext.Of(t.Context(), broken[:cut]); err == nil {
			t.Errorf("%d bytes of a PDF file are read", cut)
		}
	}
}

// A small archive with a large document is read up to the limit.
func TestALargeDocumentIsCut(t *testing.T) {
	parses(t)
	t.Parallel()
	text, err := filetext.Of(t.Context(), docx(t, strings.Repeat("x", 30<<20)))
	if len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
