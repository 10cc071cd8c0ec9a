package intake

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	format "cairn/internal/domain/transcript/intake"
)

// archive reads the members of a zip.
func (r *Reader) archive(name string, in io.Reader, each Each) error {
	limit := r.Limit
	if limit <= 0 {
		limit = format.MaxInput
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return unreadable(err, name)
	}
	if int64(len(data)) > limit {
		return fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d bytes", name, limit),
			"unpack it, and import the folder")
	}
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return damaged(err, name)
	}
	if len(files.File) > MaxFiles {
		return fault.New(fault.TooLarge, fmt.Sprintf("%s: %d members, at most %d are allowed", name, len(files.File),
			MaxFiles), "import it in several parts")
	}
	budget := &budget{name: name, left: MaxArchive}
	slices.SortFunc(files.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	found := 0
	for _, f := range files.File {
		if !f.Mode().IsRegular() || !r.readable(f.Name) {
			continue
		}
		member, err := f.Open()
		if err != nil {
			return damaged(err, name+": "+f.Name)
		}
		read, err := r.member(path.Clean(f.Name), budget.reader(checked{member, name + ": " + f.Name}), each, 1)
		_ = member.Close()
		if err != nil {
			return err
		}
		found += read
	}
	return r.some(name, found)
}

// budget limits the bytes of all members of an archive.
type budget struct {
	name string
	left int64
	from io.Reader
}

func (b *budget) reader(from io.Reader) io.Reader {
	b.from = from
	return b
}

func (b *budget) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, fault.New(fault.TooLarge, fmt.Sprintf("%s: the members have more than %d bytes", b.name, MaxArchive),
			"import it in several parts")
	}
	return n, err
}

// Folder reads all files of a folder and its folders, in the order of their paths. Symbolic links
// and hidden files are not read. Files of unknown formats are counted.
func (r *Reader) Folder(ctx context.Context, folder fs.FS, name string, each Each) error {
	found := 0
	err := fs.WalkDir(folder, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fault.Wrap(err, fault.NotFound, "read the folder "+name, "")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entry.IsDir() {
			if at != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !r.readable(at) {
			return nil
		}
		f, err := folder.Open(at)
		if err != nil {
			return fault.Wrap(err, fault.NotFound, "open "+at, "")
		}
		defer f.Close()
		read, err := r.member(at, f, each, 0)
		found += read
		return err
	})
	if err != nil {
		return err
	}
	return r.some(name, found)
}

// some returns an error if nothing was read.
func (r *Reader) some(name string, found int) error {
	if found > 0 {
		return nil
	}
	return fault.New(fault.InvalidArgument, name+": no sessions", format.Hint)
}

// sessionEnds are the ends of names of files that can hold sessions.
var sessionEnds = []string{
	".json",
	".jsonl",
	".ndjson",
	".txt",
	".md",
	".log",
	".traj",
	".gz",
	".gzip",
	".zst",
	".zstd",
	".zip",
}

// otherFiles are files without sessions in exports of programs.
var otherFiles = []string{"message_feedback.json", "model_comparisons.json", "shared_conversations.json", "user.json",
	"user_settings.json", "sora.json", "projects.json", "users.json", "logs.json", "package.json", "manifest.json"}

// SessionName reports whether a file with this base name may hold sessions.
func SessionName(base string) bool {
	return !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "__MACOSX") &&
		slices.Contains(sessionEnds, strings.ToLower(path.Ext(base))) && !slices.Contains(otherFiles, base)
}

// readable reports whether a file of a folder may hold sessions. Others are counted.
func (r *Reader) readable(name string) bool {
	if !SessionName(path.Base(name)) {
		r.Report.Skip("file without sessions", 1)
		return false
	}
	return true
}

// member reads one file of several. A file whose format is unknown is counted, and does not end the
// import.
func (r *Reader) member(name string, in io.Reader, each Each, depth int) (read int, err error) {
	err = r.read(name, in, func(f File) error {
		read++
		return each(f)
	}, depth)
	if format.IsUnknown(err) {
		r.Report.Skip("file of an unknown format", 1)
		r.Report.Warn("%v", err)
		return 0, nil
	}
	return read, err
}
