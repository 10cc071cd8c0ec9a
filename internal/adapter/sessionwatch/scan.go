package sessionwatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
	service "cairn/internal/service/intake"
)

// Found is a session file of a folder.
type Found struct {
	Path     string
	Size     int64
	Modified time.Time
}

// ends are the ends of names of session files.
var ends = []string{".jsonl", ".json"}

// scan lists the session files of a folder and its folders. Hidden files and symbolic links are left out. A folder
// that does not exist has none yet.
func scan(folder string) (files []Found, folders []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		hidden := path != folder && strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir():
			folders = append(folders, path)
			return nil
		case hidden || !entry.Type().IsRegular() || !service.SessionName(entry.Name()) ||
			!slices.Contains(ends, filepath.Ext(path)):
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Size() > 0 {
			files = append(files, Found{path, info.Size(), info.ModTime()})
		}
		return err
	})
	if err != nil {
		return nil, nil, fault.Wrap(err, fault.Unavailable, "read the folder "+folder, "make the folder readable")
	}
	return files, folders, nil
}

// content is the complete records of a file.
type content struct {
	raw     []byte
	records int
	sum     string
}

// errUnfinished means that the agent is writing the first record.
var errUnfinished = errors.New("the file has no complete record")

// read reads a file without a record that is cut off at its end.
func read(path string) (c content, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, intake.MaxInput+1))
	if err != nil {
		return c, err
	}
	if len(raw) > intake.MaxInput {
		return c, fault.New(fault.TooLarge, fmt.Sprintf("%s has more than %d bytes", path, intake.MaxInput),
			"split the file, and import the parts with `cairn import FILE`")
	}
	if filepath.Ext(path) == ".jsonl" {
		end := bytes.LastIndexByte(raw, '\n') + 1
		if last := bytes.TrimSpace(raw[end:]); len(last) > 0 && !json.Valid(last) {
			raw = raw[:end]
		}
		c.records = bytes.Count(bytes.TrimSpace(raw), []byte("\n")) + 1
	} else if c.records = 1; !json.Valid(raw) {
		return c, errUnfinished
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return c, errUnfinished
	}
	sum := sha256.Sum256(raw)
	c.raw, c.sum = raw, hex.EncodeToString(sum[:])
	return c, nil
}

// revision returns the revision of a file. A file that begins with the sent records has the same one.
func (c content) revision(sent Cursor) int {
	if sent.SHA256 == "" {
		return 1
	}
	if len(c.raw) >= sent.Bytes {
		sum := sha256.Sum256(c.raw[:sent.Bytes])
		if hex.EncodeToString(sum[:]) == sent.SHA256 {
			return sent.Revision
		}
	}
	return sent.Revision + 1
}
