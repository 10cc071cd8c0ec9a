package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/txscope"
)

const (
	// tempPrefix marks files that are being written and the folder that contains them. There is one
	// such folder, so the cleanup does not walk over the objects.
	tempPrefix = ".put-"
	tempFolder = tempPrefix + "tmp"
	// tempAge is the age from which a temporary file cannot be in use any more.
	tempAge = time.Hour
)

// LocalStore stores objects as files below one directory. It never accesses files outside of it,
// not even through symbolic links.
type LocalStore struct {
	path string // absolute, for people
	root *os.Root

	sync    func(folder string) error // syncs the names in a folder to disk
	lasting lasting
}

var _ Store = (*LocalStore)(nil)

// Local opens the store below a directory. It creates the directory if it is missing, and removes
// temporary files of crashed writers that are older than an hour. The file system must support hard
// links.
func Local(root string) (*LocalStore, error) {
	absolute, err := filepath.Abs(root)
	if err == nil {
		err = os.MkdirAll(absolute, 0o755)
	}
	if err != nil {
		return nil, trouble("open the object store", root, err)
	}
	opened, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, trouble("open the object store", root, err)
	}
	store := &LocalStore{path: absolute, root: opened, lasting: newLasting()}
	store.sync = store.syncFolder
	if err := opened.MkdirAll(tempFolder, 0o755); err != nil {
		return nil, errors.Join(trouble("open the object store", root, err), opened.Close())
	}
	if err := store.sweep(time.Now().Add(-tempAge)); err != nil {
		return nil, errors.Join(trouble("clean up the object store", root, err), opened.Close())
	}
	return store, nil
}

// Close releases the directory.
func (s *LocalStore) Close() error { return s.root.Close() }

// Put writes a temporary file, then links it to the object's name. The link fails if the name is
// taken. After a crash the object is complete or absent.
func (s *LocalStore) Put(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	folder := path.Dir(key)
	temp := path.Join(tempFolder, tempPrefix+randomName())
	err := s.writeFile(temp, data)
	if err == nil {
		err = s.link(temp, key, folder)
	}
	if removed := s.root.Remove(temp); err == nil && removed != nil {
		err = removed
	}
	if errors.Is(err, fs.ErrExist) {
		err = s.same(key, data)
	}
	if err == nil {
		err = s.keepName(folder)
	}
	return trouble("write object", key, err)
}

// linkRounds bounds the attempts to create a folder that a concurrent deletion removes.
const linkRounds = 100

// link gives a file the name of an object and creates its folder.
func (s *LocalStore) link(temp, key, folder string) (err error) {
	for range linkRounds {
		if err = s.makeFolders(folder); err == nil {
			err = s.root.Link(temp, key)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// Get reads the whole object.
func (s *LocalStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	data, err := s.root.ReadFile(key)
	if err != nil {
		if found, _ := s.isFile(key); !found && !errors.Is(err, fs.ErrPermission) {
			err = fs.ErrNotExist // a directory, or a path through a file
		}
		return nil, trouble("read object", key, err)
	}
	return data, nil
}

// Exists reports whether a regular file exists under key.
func (s *LocalStore) Exists(ctx context.Context, key string) (bool, error) {
	if err := check(ctx, key); err != nil {
		return false, err
	}
	found, err := s.isFile(key)
	return found, trouble("look for object", key, err)
}

// Delete removes the object and the folders that are empty afterwards, because their names reveal
// their contents.
func (s *LocalStore) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	found, err := s.isFile(key)
	if err != nil || !found {
		return trouble("delete object", key, err)
	}
	if err := s.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return trouble("delete object", key, err)
	}
	for folder := path.Dir(key); folder != "."; folder = path.Dir(folder) {
		if s.root.Remove(folder) != nil { // not empty
			break
		}
	}
	return nil //nolint:nilerr // a folder that is not empty stays
}

// List returns the keys of the objects directly in a folder.
func (s *LocalStore) List(ctx context.Context, folder string) ([]string, error) {
	if err := check(ctx, folder); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.root.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !notDirectory(err) {
		return nil, trouble("list folder", folder, err)
	}
	var out []string
	for _, e := range entries { // sorted
		if e.Type().IsRegular() {
			out = append(out, path.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// Empty removes a folder with everything in it, including subfolders. No writer may use it
// meanwhile.
func (s *LocalStore) Empty(ctx context.Context, folder string) error {
	if err := check(ctx, folder); err != nil {
		return err
	}
	return trouble("empty folder", folder, s.root.RemoveAll(folder))
}

// Locate returns the file's path, or "" for a key that Put rejects.
func (s *LocalStore) Locate(key string) string {
	if CheckKey(key) != nil {
		return ""
	}
	return filepath.Join(s.path, filepath.FromSlash(key))
}

// same returns nil if the existing object contains data.
func (s *LocalStore) same(key string, data []byte) error {
	existing, err := s.root.ReadFile(key)
	if err == nil && bytes.Equal(existing, data) {
		return nil
	}
	if found, _ := s.isFile(key); err != nil && found {
		return err
	}
	return fault.New(fault.AlreadyExists, fmt.Sprintf("object %q already exists with different content", key),
		"use a new key; objects never change")
}

func (s *LocalStore) isFile(key string) (bool, error) {
	info, err := s.root.Stat(key)
	switch {
	case err == nil:
		return info.Mode().IsRegular(), nil
	case errors.Is(err, fs.ErrNotExist) || notDirectory(err):
		return false, nil
	default:
		return false, err
	}
}

func check(ctx context.Context, key string) error {
	if err := txscope.Reject(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckKey(key)
}

// trouble converts an error of the file system to a fault, nil to nil. A full or failing disk may
// recover; missing permissions do not.
func trouble(operation, name string, err error) error {
	var known *fault.Error
	message := fmt.Sprintf("%s %q", operation, name)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Newf(fault.NotFound, "object %q does not exist", name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		return fault.Wrap(err, fault.Misconfigured, message,
			"choose a writable directory on a file system with hard links")
	case errors.Is(err, fs.ErrExist), notDirectory(err):
		return fault.Wrap(err, fault.AlreadyExists, message, "a part of this key is an object itself; use another key")
	default:
		return fault.Wrap(err, fault.Unavailable, message, "check the disk of the object store")
	}
}
