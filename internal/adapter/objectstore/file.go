package objectstore

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// writeFile writes a new file and syncs it to disk.
func (s *LocalStore) writeFile(name string, data []byte) (err error) {
	file, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

func (s *LocalStore) syncFolder(folder string) error {
	opened, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(opened.Sync()), opened.Close())
}

// ignoreUnsupported ignores the error of file systems that cannot sync directories.
func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// sweep removes temporary files that are older than before. Files that vanish meanwhile were
// removed by another process.
func (s *LocalStore) sweep(before time.Time) error {
	return fs.WalkDir(s.root.FS(), tempFolder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() || !strings.HasPrefix(entry.Name(), tempPrefix) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			return nil //nolint:nilerr // the file has gone, or is in use
		}
		if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func randomName() string { return rand.Text() }

func notDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
