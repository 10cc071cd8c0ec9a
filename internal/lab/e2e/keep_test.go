package e2e_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// kept returns the stored versions of a skill.
func kept(b *apptest.Bundle, id int64) []int {
	b.T.Helper()
	history, err := b.Library.History(b.T.Context(), b.Workspace.ID, id, 100)
	testkit.Must(b.T, err)
	var out []int
	for _, v := range slices.Backward(history) {
		out = append(out, v.Number)
	}
	return out
}

func TestOldVersionsGoAndTheirPackagesAfterThem(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.KeepVersions = 1 })
	b.Model.On(openaitest.Rule{Stage: "extract", Match: "payment service", Reply: updateExtract})
	b.ScriptR1()
	r := b.Distill(apptest.C1())
	first := r.Tasks[0]
	if second := b.Distill(c2("second")).Tasks[0]; second.Version != 2 {
		t.Fatalf("second task: %+v", second)
	}
	if got := kept(b, first.SkillID); !slices.Equal(got, []int{2}) {
		t.Errorf("versions %v are kept, want the head alone", got)
	}
	if n := count(b, "select (select count(*) from cairn.skill_files where version = 1) + (select count(*) from "+
		"cairn.skill_sources where version = 1)"); n != 0 {
		t.Errorf("%d rows of version 1 are left", n)
	}
	if n := count(b, "select count(*) from cairn.packages where state = 'pending'"); n != 1 {
		t.Errorf("%d packages are for collection, want that of version 1", n)
	}
	again := b.Wait(run.Ref{Workspace: b.Workspace.ID, Run: r.Run}) // the run of version 1 can still be looked at
	if again.Tasks[0].Skill != first.Skill || again.Tasks[0].Version != 1 {
		t.Errorf("its report: %+v", again.Tasks[0])
	}
	if _, err := b.Library.Rollback(t.Context(), b.Workspace.ID, first.SkillID, 1,
		0); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("rolling back to a version that is gone: %v", err)
	}
}

// Versions that were used, or that a rollback refers to, stay.
func TestVersionsThatSomebodyNeedsStay(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) { c.KeepVersions = 2 })
	put := func(step string) skill.Head {
		markdown := "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. " + step + "\n"
		got, err := b.Library.Import(
			t.Context(),
			b.Workspace.ID,
			zipOf(t, "tea/SKILL.md", markdown),
			"import",
			&approval.Override{},
		)
		testkit.Must(t, err)
		return got.Head
	}
	id := put("one").ID
	for _, step := range []string{"two", "three"} {
		put(step)
	}
	if got := kept(b, id); !slices.Equal(got, []int{2, 3}) {
		t.Fatalf("versions %v, want the two newest", got)
	}
	use := libraryUse(id, "a", "")
	use.Version = 2
	testkit.Must(t, b.Library.RecordUse(t.Context(), b.Workspace.ID, use))
	put("four")
	put("five")
	_, err := b.Library.Rollback(t.Context(), b.Workspace.ID, id, 4, 0) // 6 says what 4 said, and came from 5
	testkit.Must(t, err)
	for i := range 3 {
		put(fmt.Sprintf("more %d", i))
	}
	if got := kept(b, id); !slices.Equal(got, []int{2, 4, 5, 6, 8, 9}) {
		t.Errorf("versions %v are kept", got)
	}
	waiting, err := b.Library.Import(t.Context(), b.Workspace.ID,
		zipOf(t, "tea/SKILL.md", "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Ask\n"), "import",
		nil)
	testkit.Must(t, err)
	put("ten")
	put("eleven")
	if got := kept(b, id); waiting.Pending == 0 || !slices.Equal(got, []int{2, 4, 5, 6, 9, 10, 11}) {
		t.Errorf("versions %v are kept; 9 is what an open change was made on", got)
	}
}

// Extra files of a package stay in the next versions, byte for byte.
func TestExtraFilesGoOnIntoTheNextVersion(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	for _, id := range []string{"second", "third"} {
		b.Model.On(openaitest.Rule{Stage: "extract", Match: `release \(` + id,
			Reply: strings.Replace(updateExtract, "before rolling back", "before the "+id+" rollback", 1)})
	}
	b.ScriptR1()
	picture := "\x89PNG\r\n\x1a\n\x00\xff not text"
	const folder = "service_deployment_rollback/"
	extra := map[string]string{"LICENSE": "Do what you like.\r\n", "assets/steps.png": picture,
		"scripts/lib/probe.py": "pass"}
	members := []string{folder + "SKILL.md", "---\nname: service-deployment-rollback\ndescription: Restore a " +
		"failing service to its last healthy release and confirm recovery\n---\n\n## Trigger\n\nrollback\n\n## " +
		"Procedure\n\n1. Probe\n2. Roll back\n",
		folder + "scripts/check.sh", "true\n", "__MACOSX/" + folder + "._LICENSE", "junk"}
	for name, content := range extra {
		members = append(members, folder+name, content)
	}
	archive := zipOf(t, members...)
	first, err := b.Library.Import(t.Context(), b.Workspace.ID, archive, "import", &approval.Override{})
	testkit.Must(t, err)
	check := func(what string, archive []byte, folder string) {
		t.Helper()
		got := unzip(t, archive)
		if len(got) != 2+len(extra) {
			t.Errorf("%s: members %q", what, got)
		}
		for name, content := range extra {
			if !bytes.Equal(got[folder+name], []byte(content)) {
				t.Errorf("%s: %s holds %q, want %q", what, name, got[folder+name], content)
			}
		}
	}
	for i, id := range []string{"second", "third"} {
		task := b.Distill(c2(id)).Tasks[0]
		if i == 0 && task.Outcome == distillation.Staged { // a person imported the version in force
			change := pendingChanges(t, b)[0].ID
			_, err := b.Library.ApproveChange(t.Context(), b.Workspace.ID, change, approval.Decision{})
			testkit.Must(t, err)
		} else if i == 0 || task.Outcome != distillation.Updated || task.SkillID != first.Head.ID ||
			task.Version != i+2 {
			t.Fatalf("%s task: %+v", id, task)
		}
		_, packed, _, err := b.Library.Package(t.Context(), b.Workspace.ID, first.Head.ID, 0, "")
		testkit.Must(t, err)
		check(id, packed, folder)
		if _, v := standing(b, task.SkillID); len(v.Extra) != 3 || v.Extra[1].Path != "assets/steps.png" ||
			v.Extra[1].Bytes != len(picture) {
			t.Errorf("version %d records %+v", v.Number, v.Extra)
		}
	}
	_, hyphened, _, err := b.Library.Package(t.Context(), b.Workspace.ID, first.Head.ID, 0, "hyphen")
	testkit.Must(t, err)
	check("in another style", hyphened, "service-deployment-rollback/")

	// Another picture makes another package, although the texts are equal.
	members = append([]string{}, members...)
	for i, m := range members {
		if m == picture {
			members[i] = picture + "!"
		}
	}
	before, err := b.Library.Rollback(t.Context(), b.Workspace.ID, first.Head.ID, 1, 0)
	testkit.Must(t, err)
	changed, err := b.Library.Import(t.Context(), b.Workspace.ID, zipOf(t, members...), "import", &approval.Override{})
	if err != nil || changed.Same || changed.Head.Version != before.Version+1 {
		t.Errorf("another picture: %+v, %v", changed, err)
	}
	diff, err := b.Library.Diff(t.Context(), b.Workspace.ID, first.Head.ID, before.Version, changed.Head.Version)
	if err != nil || !strings.Contains(diff, "assets/steps.png") || strings.Contains(diff, "LICENSE") {
		t.Errorf("diff, %v:\n%s", err, diff)
	}
}
