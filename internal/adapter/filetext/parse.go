package filetext

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ledongthuc/pdf"
)

// most limits the text of a file in bytes. A compressed file can contain much more than its size.
const most = 1 << 20

// parse returns the text of a PDF or DOCX file. It runs in a process of its own: files exist for which the libraries do
// not end, or take all memory.
func parse(raw []byte) (string, error) {
	if http.DetectContentType(raw) == typePDF {
		return ofPDF(raw)
	}
	return ofDOCX(raw)
}

// ofPDF returns the text of a PDF file. The library panics for some broken files.
func ofPDF(raw []byte) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			text, err = "", fmt.Errorf("read a PDF file: %v", r)
		}
	}()
	file, err := pdf.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return "", fmt.Errorf("read a PDF file: %w", err)
	}
	r, err := file.GetPlainText()
	if err != nil {
		return "", fmt.Errorf("read a PDF file: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return "", fmt.Errorf("read a PDF file: %w", err)
	}
	return cut(strings.ToValidUTF8(string(out), "")), nil
}

// ofDOCX returns the text of a document of Word: the runs of its paragraphs.
func ofDOCX(raw []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return "", fmt.Errorf("read a DOCX file: %w", err)
	}
	file, err := archive.Open("word/document.xml")
	if err != nil {
		return "", ErrUnknown // another kind of archive
	}
	defer file.Close()
	const markup = 8 // times the size of its text, at most
	d := xml.NewDecoder(io.LimitReader(file, markup*most))
	var out strings.Builder
	for inText := false; out.Len() < most; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read a DOCX file: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			if t.Name.Local == "tab" {
				out.WriteByte('\t')
			}
		case xml.EndElement:
			inText = false
			if t.Name.Local == "p" {
				out.WriteByte('\n')
			}
		case xml.CharData:
			if inText {
				out.Write(t)
			}
		}
	}
	return cut(out.String()), nil
}

// cut returns the beginning of a text.
func cut(text string) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "")
	}
	return text
}
