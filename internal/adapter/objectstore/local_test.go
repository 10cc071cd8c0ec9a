package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/domain/fault"
)

func setup(t *testing.T) (*LocalStore, string) {
	t.Helper()
	root := t.TempDir()
	return open(t, root), root
}

func open(t *testing.T, root string) *LocalStore {
	t.Helper()
	store, err := Local(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// files lists the regular files below root.
func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(root, name)
			found = append(found, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestObjectsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	store, root := setup(t)
	const key = "skills/ws/v1-09ab/回滚.zip"
	steps := []struct {
		data string
		want fault.Code
	}{{"first", ""}, {"first", ""}, {"other", fault.AlreadyExists}, {"", fault.AlreadyExists}}
	for i, step := range steps {
		if err := store.Put(t.Context(), key, []byte(step.data)); fault.CodeOf(err) != step.want {
			t.Errorf("put %d: got %v, want %q", i, err, step.want)
		}
	}
	data, err := store.Get(t.Context(), key)
	if err != nil || string(data) != "first" {
		t.Errorf("got %q, %v", data, err)
	}
	if found := files(t, root); len(found) != 1 || found[0] != key {
		t.Errorf("left behind: %q", found)
	}
	if place := store.Locate(key); place != filepath.Join(root, filepath.FromSlash(key)) {
		t.Errorf("located at %s", place)
	}
}

func TestObjectsCanBeLookedForAndDeleted(t *testing.T) {
	t.Parallel()
	store, _ := setup(t)
	if err := store.Put(t.Context(), "a/b", nil); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"a/b": true, "a": false, "a/c": false, "a/b/c": false, "x/y/z": false} {
		found, err := store.Exists(t.Context(), key)
		if err != nil || found != want {
			t.Errorf("%s: exists %v, %v, want %v", key, found, err, want)
		}
		if _, err := store.Get(t.Context(), key); (fault.CodeOf(err) == fault.NotFound) == want {
			t.Errorf("%s: get gave %v", key, err)
		}
	}
	for range 2 { // the second finds nothing, which is success
		if err := store.Delete(t.Context(), "a/b"); err != nil {
			t.Error(err)
		}
	}
	if err := store.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if found, _ := store.Exists(t.Context(), "a/b"); found {
		t.Error("still there")
	}
	if err := store.Put(t.Context(), "a/b", []byte("new")); err != nil {
		t.Errorf("a deleted key cannot be written again: %v", err)
	}
	if err := store.Put(t.Context(), "a/b/c", nil); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("below an object: got %v", err)
	}
	if err := store.Put(t.Context(), "a", nil); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("over a folder: got %v", err)
	}
}

func TestAFolderIsListed(t *testing.T) {
	t.Parallel()
	store, _ := setup(t)
	for _, key := range []string{"erased/b", "erased/a", "erased/deeper/x", "erased2/x", "other"} {
		if err := store.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string][]string{"erased": {"erased/a", "erased/b"}, "nothing": nil, "other": nil} {
		if got, err := store.List(t.Context(), folder); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", folder, got, err)
		}
	}
	if _, err := store.List(t.Context(), "../etc"); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("outside of the root: %v", err)
	}
}

func TestHostileKeysAreRefused(t *testing.T) {
	t.Parallel()
	store, root := setup(t)
	for _, key := range []string{
		"", ".", "..", "../x", "a/../../x", "a/../b", "/abs", "a//b", "a/", "./a", `a\b`, `..\x`, "a\x00b", "a\nb",
		"a\xffb",
		"a/.put-x", ".put-x/a", strings.Repeat("x", 256), strings.Repeat("x/", 600) + "x",
	} {
		if err := store.Put(t.Context(), key, nil); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("put %q: got %v", key, err)
		}
		if _, err := store.Get(t.Context(), key); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("get %q: got %v", key, err)
		}
		if _, err := store.Exists(t.Context(), key); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("exists %q: got %v", key, err)
		}
		if err := store.Delete(t.Context(), key); fault.CodeOf(err) != fault.InvalidArgument ||
			store.Locate(key) != "" {
			t.Errorf("delete %q: got %v", key, err)
		}
	}
	if found := files(t, root); len(found) != 0 {
		t.Errorf("written: %q", found)
	}
}

func TestSymbolicLinksDoNotLeaveTheRoot(t *testing.T) {
	t.Parallel()
	store, root := setup(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if data, err := store.Get(t.Context(), "link/secret"); err == nil {
		t.Errorf("read %q", data)
	}
	if err := store.Put(t.Context(), "link/new", nil); err == nil || len(files(t, outside)) != 1 {
		t.Errorf("wrote outside: %v", err)
	}
}

func TestConcurrentWritersAgree(t *testing.T) {
	t.Parallel()
	first, root := setup(t)
	stores := []*LocalStore{first, open(t, root)} // two processes
	var won atomic.Int32
	var group sync.WaitGroup
	for i := range 40 {
		data := bytes.Repeat([]byte{byte('a' + i%4)}, 64<<10)
		group.Go(func() {
			store := stores[i%2]
			if err := store.Put(t.Context(), "same/content", []byte("x")); err != nil {
				t.Errorf("the same bytes: %v", err)
			}
			switch err := store.Put(t.Context(), "deep/er/contested", data); fault.CodeOf(err) {
			case "":
				won.Add(1)
			case fault.AlreadyExists:
			default:
				t.Error(err)
			}
			if got, err := store.Get(t.Context(), "deep/er/contested"); err != nil || len(got) != len(data) ||
				bytes.Count(got, got[:1]) != len(got) {
				t.Errorf("read a torn object of %d bytes, %v", len(got), err)
			}
		})
	}
	group.Wait()
	if won.Load() != 10 {
		t.Errorf("%d writers won, want the ten with the same bytes", won.Load())
	}
	if found := files(t, root); len(found) != 2 {
		t.Errorf("left behind: %q", found)
	}
}

func TestCrashesLeaveTheObjectWholeOrAbsent(t *testing.T) {
	t.Parallel()
	_, root := setup(t)
	folder := filepath.Join(root, tempFolder)
	if err := os.MkdirAll(filepath.Join(root, "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data string, age time.Duration) {
		t.Helper()
		place, stamp := filepath.Join(folder, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(place, []byte(data), 0o644), os.Chtimes(place, stamp, stamp)); err != nil {
			t.Fatal(err)
		}
	}
	write(tempPrefix+"half", "hal", 2*time.Hour)     // crashed while writing, long ago
	write(tempPrefix+"young", "hal", 0)              // may still be written
	write(tempPrefix+"linked", "whole", 2*time.Hour) // crashed between link and remove
	if err := os.Link(filepath.Join(folder, tempPrefix+"linked"), filepath.Join(root, "skills", "b.zip")); err != nil {
		t.Fatal(err)
	}
	store := open(t, root)
	if found := files(t, root); strings.Join(found, " ") != tempFolder+"/"+tempPrefix+"young skills/b.zip" {
		t.Errorf("after opening: %q", found)
	}
	for key, data := range map[string]string{"skills/a.zip": "half of it and the rest", "skills/b.zip": "whole"} {
		if err := store.Put(t.Context(), key, []byte(data)); err != nil {
			t.Errorf("%s again: %v", key, err)
		}
		if got, err := store.Get(t.Context(), key); err != nil || string(got) != data {
			t.Errorf("%s: got %q, %v", key, got, err)
		}
	}
}

func TestFaultsOfTheDiskAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Local(file); err == nil {
		t.Error("opened a file as a store")
	}
	store, _ := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Put(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "a", nil); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: got %v", err)
	}
	if err := trouble("write object", "a", os.ErrPermission); fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("no rights: got %v", err)
	}
}

func TestEmptyRemovesAFolderWithItsFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store, err := Local(root)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, key := range []string{"1/tea/ab/tea.zip", "1/tea/ab/SKILL.md", "12/tea/ab/tea.zip"} {
		if err := store.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // again is success
		if err := store.Empty(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if there, err := store.Exists(t.Context(), "12/tea/ab/tea.zip"); err != nil || !there {
		t.Errorf("another folder's object is gone, %v", err)
	}
	if err := store.Put(t.Context(), "1/tea/ab/tea.zip", []byte("y")); err != nil {
		t.Errorf("written again: %v", err)
	}
	for _, folder := range []string{"", "..", "/"} {
		if err := store.Empty(t.Context(), folder); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", folder, err)
		}
	}
}

// A folder's name reveals its contents. It is deleted with its last object, also during concurrent
// writes.
func TestAFolderGoesWithItsLastObject(t *testing.T) {
	t.Parallel()
	s, root := setup(t)
	var working sync.WaitGroup
	for writer := range 4 {
		working.Go(func() {
			for n := range 50 {
				key := fmt.Sprintf("1/tea/%d-%d/SKILL.md", writer, n)
				if err := s.Put(t.Context(), key, []byte("tea")); err != nil {
					t.Errorf("put %s: %v", key, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("delete %s: %v", key, err)
				}
			}
		})
	}
	working.Wait()
	if _, err := os.Stat(filepath.Join(root, "1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}
