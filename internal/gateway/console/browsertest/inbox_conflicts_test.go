package browsertest_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/gateway/console/browsertest"
	"cairn/internal/gateway/httpapi"
)

const approve = "form[action$='/approve'] button"

// An item that changes while a person reads it is shown as it is now, and only that can be approved.
func TestAnItemThatChangedIsShownAgain(t *testing.T) {
	f, b := signedIn(t)
	skill := func() httpapi.SkillDetail { return read[httpapi.SkillDetail](f, "/v1/skills/"+f.Versioned) }
	b.Visit(f.At("inbox", f.Change))
	shows(b, "then write a report")
	before := skill().Version
	other := strings.Replace(browsertest.Body("Probe twice"), "Read the release notes", "Read all release notes", 1)
	f.Import("Undo a release", other, &approval.Override{})
	b.Expect(http.StatusConflict)
	b.Submit(approve)
	shows(b, "has changed since it was shown", "Read all release notes")
	if now := skill(); now.Version != before+1 || strings.Contains(now.Body, "write a report") {
		t.Fatalf("version %d after %d: %s", now.Version, before, now.Body)
	}
	b.Expect(http.StatusOK)
	b.Act(approve, "Approved.") // both changes, which are in different lines
	if now := skill(); now.Version != before+2 || !strings.Contains(now.Body, "write a report") ||
		!strings.Contains(now.Body, "Read all release notes") {
		t.Errorf("version %d after %d: %s", now.Version, before, now.Body)
	}
}

// A change of a line that a newer version changed, too, stays in the inbox, with both sides, until a person edits it.
func TestAConflictIsResolved(t *testing.T) {
	f, b := signedIn(t)
	f.Import("Undo a release", browsertest.Body("Probe three times"), &approval.Override{})
	at := f.At("inbox", f.Change)
	b.Visit(at)
	shows(b, "Both sides", "Probe three times", "then write a report", "Conflict")
	b.CheckAccessibility()
	b.Expect(http.StatusConflict)
	b.Submit(approve)
	shows(b, "edit it and approve your text")
	b.Expect(http.StatusOK)
	b.Visit(at)
	shows(b, "Both sides")
	b.Click("main a[href$='/edit']")
	b.Await("#content")
	b.Enter("#content", browsertest.Body("Probe three times, then write a report"))
	b.Act("form[action$='/edit'] button.primary", "Approved.")
	if now := read[httpapi.SkillDetail](f, "/v1/skills/"+f.Versioned); !strings.Contains(now.Body,
		"Probe three times, then write a report") {
		t.Errorf("the skill is %s", now.Body)
	}
	b.Expect(http.StatusNotFound)
	b.Visit(at)
}

// A memory write that waits is edited, and approved as it was edited.
func TestAMemoryWriteIsEdited(t *testing.T) {
	f, b := signedIn(t)
	f.StageMemory("Ada works at night.")
	b.Visit(f.At("inbox"))
	item := find(t, read[httpapi.InboxList](f, "/v1/inbox").Items,
		func(i httpapi.InboxItem) bool { return i.Kind == "memory" })
	b.Click("main a[href$='/inbox/" + item.ID + "']")
	b.Await("#diff")
	shows(b, "Ada works at night.")
	b.Click("main a[href$='/edit']")
	b.Await("[name=fact]")
	b.Enter("[name=fact]", "Ada works by day.")
	b.Act("form[action$='/edit'] button.primary", "Approved.")
	memory := find(t, read[httpapi.BrowsedMemories](f, "/v1/memories/browse?type=core").Memories,
		func(m httpapi.BrowsedMemory) bool { return strings.HasPrefix(m.Content, "Ada works") })
	if memory.Content != "Ada works by day." || memory.Origin != "user" || memory.Status != "active" {
		t.Errorf("%+v", memory)
	}
}
