package objectstore

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// Names that a power failure would lose are synced, and none twice.
func TestOnlyNewNamesAreSynced(t *testing.T) {
	t.Parallel()
	store, root := setup(t)
	var synced []string
	store.sync = func(folder string) error {
		synced = append(synced, folder)
		return store.syncFolder(folder)
	}
	put := func(key string, want ...string) {
		t.Helper()
		synced = nil
		if err := store.Put(t.Context(), key, []byte(path.Base(key))); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(synced, want) {
			t.Errorf("%s: synced %q, want %q", key, synced, want)
		}
	}
	put("1/deploy/ab/SKILL.md", "1/deploy/ab", "1/deploy", "1", ".")
	put("1/deploy/ab/deploy.zip", "1/deploy/ab")
	put("1/deploy/cd/deploy.zip", "1/deploy/cd", "1/deploy")
	put("1/rollback/ab/rollback.zip", "1/rollback/ab", "1/rollback", "1")
	put("1/deploy/ab/deploy.zip", "1/deploy/ab") // a crashed attempt may have linked the file without syncing it
	put("top.zip", ".")

	// Another process has created these, and may have crashed before a sync.
	if err := os.MkdirAll(filepath.Join(root, "2", "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	put("2/deploy/ab/deploy.zip", "2/deploy/ab", "2/deploy", "2", ".")

	// The store was deleted: its folders are not lasting any more.
	if err := os.RemoveAll(filepath.Join(root, "1")); err != nil {
		t.Fatal(err)
	}
	put("1/deploy/ab/deploy.zip", "1/deploy/ab", "1/deploy", "1", ".")
}

// After a failed sync, the next attempt syncs again.
func TestAFailedSyncIsDoneAgain(t *testing.T) {
	t.Parallel()
	store, _ := setup(t)
	store.sync = func(string) error { return os.ErrClosed }
	if err := store.Put(t.Context(), "1/a/b.zip", nil); err == nil {
		t.Fatal("the object was reported written")
	}
	var synced []string
	store.sync = func(folder string) error {
		synced = append(synced, folder)
		return store.syncFolder(folder)
	}
	if err := store.Put(t.Context(), "1/a/b.zip", nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1/a", "1", "."}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
}
