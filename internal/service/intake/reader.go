package intake

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
)

// Limits of archives and folders. A file has the limit of package format.
const (
	MaxFiles   = 10_000
	MaxArchive = 256 << 20 // bytes of all members of an archive

	maxWindow = 32 << 20 // memory of a decoder
	maxNested = 2        // compressed files in archives, but no archives in archives
)

// Options are the options of a Reader.
type Options struct {
	Format       string // empty means to detect it for each file
	Limit        int64  // of a file, in bytes; 0 means format.MaxInput
	AllowUnknown bool
}

// File is a file that was read.
type File struct {
	Name    string // its path below the folder or archive
	Content []byte // not compressed
	Result  format.Result
}

// Each receives one file. Conversations that an earlier file held are left out.
type Each func(f File) error

// Reader reads files, and collects their report. It is not safe for concurrent use.
type Reader struct {
	Options
	Report transcript.ImportReport

	files int
	seen  map[string]bool // IDs of conversations
}

// Read reads a file, which may be compressed, or an archive. name is its path below the folder that
// is imported.
func (r *Reader) Read(name string, in io.Reader, each Each) error {
	return r.read(name, in, each, 0)
}

func (r *Reader) read(name string, in io.Reader, each Each, depth int) error {
	buffered := bufio.NewReader(in)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return unreadable(err, name)
	}
	kind := compression(magic)
	if kind != "" && depth == maxNested {
		return fault.New(fault.InvalidArgument, name+": compressed several times", "unpack it first")
	}
	switch kind {
	case "gzip":
		inner, err := gzip.NewReader(buffered)
		if err != nil {
			return damaged(err, name)
		}
		defer inner.Close()
		return r.read(trim(name, ".gz", ".gzip"), checked{inner, name}, each, depth+1)
	case "zstd":
		inner, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return damaged(err, name)
		}
		defer inner.Close()
		return r.read(trim(name, ".zst", ".zstd"), checked{inner, name}, each, depth+1)
	case "zip":
		if depth > 0 {
			return fault.New(fault.InvalidArgument, name+": an archive in an archive", "unpack it first")
		}
		return r.archive(name, buffered, each)
	}
	return r.file(name, buffered, each)
}

// compression names the compression of a file by its first bytes.
func compression(magic []byte) string {
	for prefix, kind := range map[string]string{"\x1f\x8b": "gzip", "\x28\xb5\x2f\xfd": "zstd", "PK\x03\x04": "zip"} {
		if bytes.HasPrefix(magic, []byte(prefix)) {
			return kind
		}
	}
	return ""
}

func trim(name string, extensions ...string) string {
	for _, extension := range extensions {
		if cut, found := strings.CutSuffix(name, extension); found && cut != "" {
			return cut
		}
	}
	return name
}

// checked reports damage of a compressed file as such.
type checked struct {
	io.Reader
	name string
}

func (c checked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err, c.name)
	}
	return n, err
}

func damaged(err error, name string) error {
	return fault.Wrap(err, fault.InvalidArgument, name+": damaged compressed data", "create the file again")
}

func unreadable(err error, name string) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	return fault.Wrap(err, fault.Unavailable, "read "+name, "")
}

// file reads one file that is not compressed.
func (r *Reader) file(name string, in io.Reader, each Each) error {
	if r.files++; r.files > MaxFiles {
		return fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d files", name, MaxFiles),
			"import the folder in several parts")
	}
	var content bytes.Buffer
	result, err := format.Read(
		path.Base(name),
		io.TeeReader(in, &content),
		format.Options{Format: r.Format, Limit: r.Limit,
			AllowUnknown: r.AllowUnknown},
	)
	if err != nil {
		return err
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	kept := result.Conversations[:0]
	for _, c := range result.Conversations {
		if r.seen[c.ID] {
			result.Report.Skip("repeated conversation", 1)
			continue
		}
		r.seen[c.ID] = true
		kept = append(kept, c)
	}
	result.Conversations, result.Report.Conversations = kept, len(kept)
	r.Report.Add(result.Report)
	return each(File{name, content.Bytes(), result})
}
