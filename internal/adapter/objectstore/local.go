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
	// tempPrefix marks files that are being written, and their folder: one for
	// all, so that tidying up never walks over the objects.
	tempPrefix = ".put-"
	tempFolder = tempPrefix + "tmp"
	// tempAge is how old such a file is before nobody can be writing it still.
	tempAge = time.Hour
)

// LocalStore keeps objects as files below one directory and never leaves it,
// not even through symbolic links.
type LocalStore struct {
	path string // absolute, for people
	root *os.Root

	sync    func(folder string) error // writes a folder's names through to the disk
	lasting lasting
}

var _ Store = (*LocalStore)(nil)

// Local opens the store below a directory, creates the directory when there is
// none, and removes what crashed writers left there more than an hour ago. The
// file system must have hard links.
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
	store := &LocalStore{path: absolute, root: opened}
	store.sync = store.syncFolder
	if err := opened.MkdirAll(tempFolder, 0o755); err != nil {
		return nil, errors.Join(trouble("open the object store", root, err), opened.Close())
	}
	if err := store.sweep(time.Now().Add(-tempAge)); err != nil {
		return nil, errors.Join(trouble("tidy the object store", root, err), opened.Close())
	}
	return store, nil
}

// Close releases the directory.
func (s *LocalStore) Close() error { return s.root.Close() }

// Put writes a temporary file, then links it to the object's name,
// which fails when the name is taken. A crash leaves the object whole or
// absent.
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

// linkRounds bounds how often a folder is made anew that a deletion has just removed.
const linkRounds = 100

// link gives a file the name of an object, and makes its folder.
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

// Exists tells whether there is a regular file.
func (s *LocalStore) Exists(ctx context.Context, key string) (bool, error) {
	if err := check(ctx, key); err != nil {
		return false, err
	}
	found, err := s.isFile(key)
	return found, trouble("look for object", key, err)
}

// Delete removes the object, and folders that have nothing in them then: their names
// tell of what was in them.
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
		if s.root.Remove(folder) != nil { // something is in it
			break
		}
	}
	return nil
}

// Empty removes a folder with everything in it, folders too. Nobody may write
// below it meanwhile.
func (s *LocalStore) Empty(ctx context.Context, folder string) error {
	if err := check(ctx, folder); err != nil {
		return err
	}
	return trouble("empty folder", folder, s.root.RemoveAll(folder))
}

// Locate gives the file's path; a key that Put refuses has none.
func (s *LocalStore) Locate(key string) string {
	if CheckKey(key) != nil {
		return ""
	}
	return filepath.Join(s.path, filepath.FromSlash(key))
}

// same is nil when the object that is there already holds data.
func (s *LocalStore) same(key string, data []byte) error {
	existing, err := s.root.ReadFile(key)
	if err == nil && bytes.Equal(existing, data) {
		return nil
	}
	if found, _ := s.isFile(key); err != nil && found {
		return err
	}
	return fault.New(fault.AlreadyExists, fmt.Sprintf("object %q exists already with other content", key),
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

// trouble gives the code of a file system's error, nil for nil. A full or
// failing disk may recover; missing rights will not by themselves.
func trouble(operation, name string, err error) error {
	var known *fault.Error
	message := fmt.Sprintf("%s %q", operation, name)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Newf(fault.NotFound, "there is no object %q", name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		return fault.Wrap(err, fault.Misconfigured, message,
			"choose a directory that this process may write and whose file system has hard links")
	case errors.Is(err, fs.ErrExist), notDirectory(err):
		return fault.Wrap(err, fault.AlreadyExists, message, "a part of this key is an object itself; use another key")
	default:
		return fault.Wrap(err, fault.Unavailable, message, "check the disk of the object store")
	}
}
