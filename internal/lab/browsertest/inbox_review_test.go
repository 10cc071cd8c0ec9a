package browsertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/browsertest"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

const (
	approveButton = "form[action$='/approve'] button"
	editedButton  = "form[action$='/edit'] button.primary"
)

// waits reports whether an item is in the inbox.
func waits(f *browsertest.Fixture, item string) bool {
	f.T.Helper()
	for _, i := range read[httpapi.InboxList](f, "/v1/inbox").Items {
		if i.ID == item {
			return true
		}
	}
	return false
}

// within returns the text of the section with a heading.
func within(b *browsertest.Browser, heading string) string {
	b.T.Helper()
	return browsertest.Evaluate[string](b,
		fmt.Sprintf("document.querySelector('section[aria-labelledby=%s]')?.innerText ?? ''", heading))
}

// contains checks that a section contains all of some texts.
func contains(b *browsertest.Browser, heading string, texts ...string) {
	b.T.Helper()
	part := within(b, heading)
	for _, text := range texts {
		if !strings.Contains(part, text) {
			b.T.Errorf("the section %s of %s does not contain %q: %s", heading, b.Path(), text, part)
		}
	}
}

// A memory write of an agent is corrected and approved: the memory has the text of the person, who is its author.
func TestAMemoryWriteIsEditedAndApproved(t *testing.T) {
	f, b := signedIn(t)
	w, err := f.App.Memory.Save(t.Context(), agent.Actor{Workspace: f.Workspace.ID, Origin: agent.OriginAgent,
		Tainted: true, Run: f.Turn, Op: "test/osaka"}, memories.SaveArgs{Content: "Ada lives in Osaka.",
		Store: "profile"})
	testkit.Must(t, err)
	item := fmt.Sprintf("m%d", w.Pending)
	b.Visit(f.At("inbox", item))
	shows(b, "Ada lives in Osaka.", "taint")
	b.Submit("main a[href$='/edit']")
	b.Enter("#fact0", "Ada lives in Kyoto.")
	b.Submit("button[name=check]")
	contains(b, "diff", "Ada lives in Kyoto.")
	b.Enter("#fact0", "Ada lives in Nara.")
	b.Act(editedButton, "Approved.")
	if waits(f, item) {
		t.Error("the item waits after its approval")
	}
	all := read[httpapi.MemoryList](f, "/v1/memories?store=profile").Memories
	m := find(t, all, func(m httpapi.Memory) bool { return strings.HasPrefix(m.Content, "Ada lives in") })
	if m.Content != "Ada lives in Nara." || m.Origin != "user" || m.Tainted || len(all) != 1 {
		t.Errorf("the memories are %+v", all)
	}
	b.Visit(f.At("memories", m.ID))
	shows(b, "Ada lives in Nara.", "by a user")
	hides(b, "Osaka", "Kyoto")
}

// versioned returns the skill whose change waits.
func versioned(f *browsertest.Fixture) httpapi.SkillDetail {
	f.T.Helper()
	return read[httpapi.SkillDetail](f, "/v1/skills/"+f.Versioned)
}

// If the skill of a change gets another version while a person reads the change, an approval shows it again: nothing is
// in force until the new view is approved.
func TestAChangeWhoseSkillMovedIsShownAgain(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("inbox", f.Change))
	contains(b, "diff", "Probe twice, then write a report")
	if within(b, "sides") != "" || strings.Contains(within(b, "diff"), "merged") {
		t.Error("there are two sides before the skill has moved")
	}
	moved := strings.Replace(browsertest.Body("Probe twice"), "Read the release notes", "Read all release notes", 1)
	f.Import("Undo a release", moved, &approval.Override{})
	before := versioned(f)
	b.Expect(http.StatusConflict)
	b.Submit(approveButton)
	shows(b, "has changed since it was shown")
	contains(b, "theirs", "Read the release notes", "Read all release notes")
	contains(b, "proposed", "Probe twice, then write a report")
	contains(b, "diff", "Both sides are merged", "Read all release notes", "Probe twice, then write a report")
	if s := within(b, "diff"); strings.Contains(s, "Read the release notes") {
		t.Errorf("the proposal takes back the change of the skill: %s", s)
	}
	if now := versioned(f); now.Version != before.Version || now.Body != before.Body || !waits(f, f.Change) {
		t.Fatalf("version %d is in force, of before %d: %s", now.Version, before.Version, now.Body)
	}
	b.Expect(http.StatusOK)
	b.Act(approveButton, "Approved.")
	now := versioned(f)
	if now.Version != before.Version+1 || !strings.Contains(now.Body, "Read all release notes") ||
		!strings.Contains(now.Body, "Probe twice, then write a report") || waits(f, f.Change) {
		t.Errorf("version %d of before %d: %s", now.Version, before.Version, now.Body)
	}
}

// A change that cannot be merged stays in the inbox, with what each side changed, until a person writes what both mean.
func TestAConflictStaysWithBothSides(t *testing.T) {
	f, b := signedIn(t)
	f.Import("Undo a release", browsertest.Body("Probe three times"), &approval.Override{})
	before := versioned(f)
	sides := func() {
		t.Helper()
		contains(b, "theirs", "Probe twice\n", "Probe three times")
		contains(b, "proposed", "Probe twice\n", "Probe twice, then write a report")
		if strings.Contains(within(b, "theirs"), "report") || strings.Contains(within(b, "proposed"), "three") {
			t.Errorf("the sides are mixed: %s", within(b, "sides"))
		}
	}
	b.Visit(f.At("inbox", f.Change))
	contains(b, "conflict", "its content has changed since")
	contains(b, "diff", "cannot be merged", "Probe three times", "Probe twice, then write a report")
	sides()
	b.CheckAccessibility()
	b.Expect(http.StatusConflict)
	b.Submit(approveButton)
	shows(b, "edit it and approve your text")
	sides()
	b.Expect(http.StatusOK)
	if now := versioned(f); now.Version != before.Version || now.Body != before.Body || !waits(f, f.Change) {
		t.Fatalf("version %d is in force, of before %d: %s", now.Version, before.Version, now.Body)
	}
	b.Visit(f.At("inbox"))
	shows(b, f.Versioned)
	b.Visit(f.At("inbox", f.Change, "edit"))
	sides()
	b.Enter("#content", browsertest.Body("Probe three times, then write a report"))
	b.Act(editedButton, "Approved.")
	now := versioned(f)
	if now.Version != before.Version+1 || !strings.Contains(now.Body, "Probe three times, then write a report") ||
		waits(f, f.Change) {
		t.Errorf("version %d of before %d: %s", now.Version, before.Version, now.Body)
	}
	v := read[httpapi.VersionDetail](f, fmt.Sprintf("/v1/skills/%s/versions/%d", f.Versioned, now.Version))
	if v.Origin != "user" {
		t.Errorf("the version is by %s", v.Origin)
	}
}
