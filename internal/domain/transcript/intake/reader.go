package intake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
)

// JSONSource reads JSON inputs of any size without decoding what is not used. It knows the place of each value,
// for errors and citations.
//
//	s := intake.NewSource("session.jsonl", file, 64<<20, 256<<10, "see the manual")
//	err := s.Values(func(v intake.Value) error { fmt.Println(v.Get("type").Str(), v.Line()); return nil })
//
// Errors are *fault.Error and state the format, the file, the line and the column. jsontext finds values,
// offsets and pointers; a Source adds lines, and reads values only when they are used.
type JSONSource struct {
	Name   string
	Format string                       // in errors
	Hint   string                       // of errors
	Torn   func(place string, size int) // called for a last line that was cut off

	reader *bufio.Reader
	limit  *limited
}

// NewJSONSource returns a Source that reads at most limit bytes of r. Head can return up to head bytes.
func NewJSONSource(name string, r io.Reader, limit int64, head int, hint string) *JSONSource {
	bounded := &limited{from: r, name: name, most: limit}
	return &JSONSource{Name: name, Format: "input", Hint: hint, Torn: func(string, int) {}, limit: bounded,
		reader: bufio.NewReaderSize(bounded, head)}
}

// Head returns the beginning of the input without consuming it, and whether that is all. It removes a byte order mark.
func (s *JSONSource) Head(size int) (head []byte, whole bool, err error) {
	head, err = s.reader.Peek(size)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, s.Failed(err)
	}
	whole = err != nil
	if rest, marked := bytes.CutPrefix(head, []byte("\ufeff")); marked {
		if _, err := s.reader.Discard(len(head) - len(rest)); err != nil {
			return nil, false, s.Failed(err)
		}
		head = rest
	}
	return bytes.Clone(head), whole, nil
}

// limited fails after more than most bytes.
type limited struct {
	from     io.Reader
	name     string
	most     int64
	consumed int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p[:min(int64(len(p)), l.most+1-l.consumed)])
	l.consumed += int64(n)
	if l.consumed > l.most {
		return n, fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d bytes", l.name, l.most),
			"split it into several files, one conversation each")
	}
	return n, err
}

// Failed wraps an error of the reader.
func (s *JSONSource) Failed(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	return fault.Wrap(err, fault.Unavailable, "read "+s.Name, "")
}

// At returns the error for a position of the input.
func (s *JSONSource) At(c *Chunk, offset int, format string, args ...any) error {
	offset = min(max(offset, 0), len(c.data))
	before := c.data[:offset]
	line := c.line + bytes.Count(before, []byte("\n"))
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fault.New(fault.InvalidArgument,
		fmt.Sprintf("%s: %s:%d:%d: %s", s.Format, s.Name, line, column, fmt.Sprintf(format, args...)), s.Hint)
}

// Bad returns the error for a value of the input.
func (s *JSONSource) Bad(n JSONValue, format string, args ...any) error {
	if n.chunk == nil {
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("%s: %s: %s", s.Format, s.Name, fmt.Sprintf(format, args...)),
			s.Hint,
		)
	}
	return s.At(n.chunk, n.at, format, args...)
}

// All reads the rest of the input. A large input gets a buffer of the limit at once: a buffer that
// grows takes twice the memory.
func (s *JSONSource) All(start []byte) ([]byte, error) {
	const small = 1 << 20
	data := make([]byte, len(start), max(small, len(start)+1))
	copy(data, start)
	for {
		if len(data) == cap(data) {
			larger := make([]byte, len(data), max(int(s.limit.most)+1, 2*cap(data)))
			copy(larger, data)
			data = larger
		}
		n, err := s.reader.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, s.Failed(err)
		}
	}
}

// Records calls fn with each top-level value: the value of each line, or the values of a document
// in several lines. A value is valid only during the call. The items of an array that is the only
// value are not split.
func (s *JSONSource) Records(fn func(n JSONValue) error) error {
	line, err := s.reader.ReadBytes('\n')
	skipped := 0
	for err == nil && len(bytes.TrimSpace(line)) == 0 {
		skipped++
		line, err = s.reader.ReadBytes('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return s.Failed(err)
	}
	if !valid(line) || !utf8.Valid(line) {
		return s.document(skipped+1, line, fn)
	}
	for number := skipped + 1; ; number++ {
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return s.Failed(err)
		}
		if problem := s.line(line, number, ended && number > skipped+1, fn); problem != nil {
			return problem
		}
		if ended {
			return nil
		}
		line, err = s.nextLine(line[:0])
	}
}

// nextLine reads a line into buffer.
func (s *JSONSource) nextLine(buffer []byte) ([]byte, error) {
	for {
		part, err := s.reader.ReadSlice('\n')
		buffer = append(buffer, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buffer, err
		}
	}
}

// line reads one line. A last line without an end that is not valid is only reported.
func (s *JSONSource) line(line []byte, number int, last bool, fn func(n JSONValue) error) error {
	c := &Chunk{data: line, line: number}
	n := c.Root("")
	if len(n.raw) == 0 {
		return nil
	}
	if problem := s.check(c); problem != nil {
		if last {
			s.Torn(fmt.Sprintf("%s:%d", s.Name, number), len(n.raw))
			return nil
		}
		return problem
	}
	return fn(n)
}

// check returns the first error of a chunk that must be one JSON value.
func (s *JSONSource) check(c *Chunk) error {
	if problem := s.CheckText(c); problem != nil {
		return problem
	}
	d := newDecoder(c.data)
	if _, err := d.ReadValue(); err != nil {
		return s.syntax(c, err)
	}
	if rest := bytes.TrimLeft(c.data[d.InputOffset():], blanks); len(rest) > 0 {
		return s.At(c, len(c.data)-len(rest), "not valid JSON: text after the value")
	}
	return nil
}

// syntax returns the error for invalid JSON. The end of the input is that of its last value.
func (s *JSONSource) syntax(c *Chunk, err error) error {
	offset := len(bytes.TrimRight(c.data, blanks))
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset, err = min(offset, int(syntax.ByteOffset)), syntax.Err
	}
	return s.At(c, offset, "not valid JSON: %v", err)
}

// CheckText refuses what cannot be stored as text, and what has too many values.
func (s *JSONSource) CheckText(c *Chunk) error {
	if decoding.Count(c.data) > decoding.MaxDocument {
		return fault.New(fault.TooLarge, fmt.Sprintf("%s: a document of more than %d JSON values", s.Name,
			decoding.MaxDocument), "split it into several files, one conversation each")
	}
	if at := bytes.IndexByte(c.data, 0); at >= 0 {
		return s.At(c, at, "unexpected NUL, the input is not text")
	}
	if utf8.Valid(c.data) {
		return nil
	}
	at := 0
	for at < len(c.data) {
		r, size := utf8.DecodeRune(c.data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return s.At(c, at, "invalid UTF-8")
}

// document reads values that take several lines each.
func (s *JSONSource) document(line int, start []byte, fn func(n JSONValue) error) error {
	data, err := s.All(start)
	if err != nil {
		return err
	}
	c := &Chunk{data: data, line: line}
	if problem := s.CheckText(c); problem != nil {
		return problem
	}
	for d := newDecoder(data); ; {
		raw, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.syntax(c, err)
		}
		if err := fn(JSONValue{c, raw, int(d.InputOffset()) - len(raw), ""}); err != nil {
			return err
		}
	}
}

// Values is records with the items of an array that is a whole line or document.
func (s *JSONSource) Values(fn func(n JSONValue) error) error {
	return s.Records(func(n JSONValue) error {
		if !n.IsArray() {
			return fn(n)
		}
		for _, item := range n.Items() {
			if err := fn(item); err != nil {
				return err
			}
		}
		return nil
	})
}
