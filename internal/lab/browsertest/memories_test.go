package browsertest_test

import (
	"bytes"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/browsertest"
	"cairn/internal/service/dump"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// memory returns a memory as the API shows it.
func memory(f *browsertest.Fixture, id string) httpapi.Memory {
	f.T.Helper()
	return read[httpapi.Memory](f, "/v1/memories/"+id)
}

// A person adds a memory, deletes it, and undoes the deletion.
func TestAMemoryIsAddedDeletedAndUndone(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("memories"))
	b.Enter("#content", "Ada is a cook.")
	b.Choose("#store", "profile")
	b.Act("form[action$='/memories'] button", "Saved.")
	shows(b, "Ada is a cook.", "active")
	id := path.Base(b.Path())
	if m := memory(f, id); m.Content != "Ada is a cook." || m.Type != "profile" || m.Status != "active" ||
		m.Origin != "user" {
		t.Errorf("the memory is %+v", m)
	}
	b.Act("form[action$='/delete'] button", "Deleted. You can restore it for some days.")
	shows(b, "removed")
	if m := memory(f, id); m.Status != "removed" {
		t.Errorf("after the deletion: %+v", m)
	}
	b.Visit(f.At("memories"))
	hides(b, "Ada is a cook.")
	b.Visit(f.At("memories", id))
	b.Act("form[action$='/undo'] button", "Undone.")
	shows(b, "Ada is a cook.", "active")
	if m := memory(f, id); path.Base(b.Path()) != id || m.Content != "Ada is a cook." || m.Status != "active" {
		t.Errorf("%s after the undo: %+v", b.Path(), m)
	}
}

// A version of a memory is restored, and the restoration is undone. A deleted memory is restored, too.
func TestAVersionOfAMemoryIsRestored(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("memories", f.Personal))
	restore := "form[action$='/restore']:has([name=version][value='1']) button"
	b.Act(restore, "Restored.")
	shows(b, "Version 3")
	if m := memory(f, f.Personal); m.Content != "Lives in Bergen." {
		t.Errorf("after the restoration: %+v", m)
	}
	b.Act("form[action$='/undo'] button", "Undone.")
	if m := memory(f, f.Personal); m.Content != "Lives in Oslo." {
		t.Errorf("after the undo: %+v", m)
	}
	b.Visit(f.At("memories", f.Removed))
	b.Act(restore, "Restored.")
	if m := memory(f, f.Removed); m.Content != "Sails on Sundays." || m.Status != "active" {
		t.Errorf("the deleted memory is %+v", m)
	}
	b.Visit(f.At("memories"))
	shows(b, "Sails on Sundays.", "Lives in Oslo.")
}

// The memories of another workspace are loaded from its dump.
func TestMemoriesAreLoaded(t *testing.T) {
	f, b := signedIn(t)
	other, err := f.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	_, err = f.LongTerm.AddMemories(t.Context(), agent.Actor{Workspace: other.ID, Origin: agent.OriginUser, Op: "x",
		Subject: agent.MemoryScope{Type: "personal", Target: "Grace"}},
		[]memories.NewMemory{{Content: "Repairs old clocks."}})
	testkit.Must(t, err)
	var out bytes.Buffer
	testkit.Must(t, f.Dumps.Dump(t.Context(), other.ID, &out, dump.Options{}))
	file := filepath.Join(t.TempDir(), "memories.ndjson")
	testkit.Must(t, os.WriteFile(file, out.Bytes(), 0o644))
	load := func() {
		t.Helper()
		b.Visit(f.At("memories"))
		b.Upload("#file", file)
		b.Submit("form[action$='/load'] button")
	}
	hides(b, "Repairs old clocks.")
	load()
	shows(b, "Imported.", "Repairs old clocks.")
	loaded := find(t, read[httpapi.BrowsedMemories](f, "/v1/memories/browse").Memories,
		func(m httpapi.BrowsedMemory) bool { return m.Content == "Repairs old clocks." })
	if m := memory(f, loaded.ID); m.Target != "Grace" || m.Status != "active" {
		t.Errorf("the loaded memory is %+v", m)
	}
	testkit.Must(t, os.WriteFile(file, []byte("{}\n"), 0o644))
	b.Expect(http.StatusBadRequest)
	load()
	if !has(b, "[role=alert]") {
		t.Error("the page shows no problem")
	}
}
