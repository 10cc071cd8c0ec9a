package browsertest_test

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"cairn/internal/domain/skill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// A package is uploaded, and waits for a decision.
func TestASkillIsUploaded(t *testing.T) {
	f, b := signedIn(t)
	text := skill.Compose("water-plants", "Water the plants of the office", []byte(browsertest.Body("Look again")),
		skill.RenderOptions{})
	archive, err := skill.Zip("water-plants", text, nil)
	testkit.Must(t, err)
	file := filepath.Join(t.TempDir(), "water.zip")
	testkit.Must(t, os.WriteFile(file, archive, 0o644))
	b.Visit(f.At("skills"))
	b.Upload("#file", file)
	b.Act("form[action$='/skills'] button", "Uploaded. It waits for your decision.")
	shows(b, "Look again", "Water the plants of the office")
	item := path.Base(b.Path())
	waits := find(t, read[httpapi.InboxList](f, "/v1/inbox").Items,
		func(i httpapi.InboxItem) bool { return i.ID == item })
	if waits.Kind != "candidate" || waits.Origin != "import" {
		t.Errorf("the item is %+v", waits)
	}
	if s := read[httpapi.SkillDetail](f, "/v1/skills/water-plants"); s.Status != "candidate" {
		t.Errorf("the skill is %+v", s)
	}
}

// Each action of a skill has its effect, and its opposite takes it back.
func TestASkillIsChanged(t *testing.T) {
	f, b := signedIn(t)
	now := func() httpapi.SkillDetail { return read[httpapi.SkillDetail](f, "/v1/skills/"+f.Versioned) }
	b.Visit(f.At("skills", f.Versioned))
	shows(b, "Probe twice")
	for _, step := range []struct {
		action, notice, next string
		done                 func(httpapi.SkillDetail) bool
	}{
		{"pin", "Pinned.", "unpin", func(s httpapi.SkillDetail) bool { return s.Pinned }},
		{"unpin", "Unpinned.", "pin", func(s httpapi.SkillDetail) bool { return !s.Pinned }},
		{"adopt", "Agents may change the skill now.", "release",
			func(s httpapi.SkillDetail) bool { return s.Managed }},
		{"release", "Agents no longer change the skill.", "adopt",
			func(s httpapi.SkillDetail) bool { return !s.Managed }},
		{"archive", "Archived.", "restore", func(s httpapi.SkillDetail) bool { return s.Status == "archived" }},
		{"restore", "Restored.", "archive", func(s httpapi.SkillDetail) bool { return s.Status == "active" }},
	} {
		button := func(action string) string { return "form[action$='/" + action + "'] button" }
		if step.done(now()) {
			t.Errorf("%s has nothing to do: %+v", step.action, now())
		}
		b.Act(button(step.action), step.notice)
		if !step.done(now()) {
			t.Errorf("after %s: %+v", step.action, now())
		}
		if has(b, button(step.action)) || !has(b, button(step.next)) {
			t.Errorf("after %s, the page does not offer %s", step.action, step.next)
		}
	}
	b.Act("form[action$='/rollback']:has([name=to][value='1']) button", "Rolled back.")
	shows(b, "Probe once")
	if s := now(); s.Version != 3 || s.Status != "active" {
		t.Errorf("after the rollback: %+v", s)
	}
}
