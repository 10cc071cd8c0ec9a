package e2e_test

import (
	"archive/zip"
	"bytes"
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Packages from other programs.
func TestImportKeepsAPackageAsItCame(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	long := strings.Repeat("A sentence that nobody may cut. ", 20)
	markdown := "---\nname: weather-report\ndescription: >\n  Tells the weather: for a place\n  and a day.\n" +
		"license: MIT\n---\n\n# Weather report\n\n## Procedure\n1. " + long +
		"\n2. Run the script\n\n## Examples\n\n### Example 1\n```markdown\n# Report\n```\n"
	archive := zipOf(t, "weather-report/SKILL.md", markdown, "weather-report/references/sources.md", "# Sources\n",
		"weather-report/scripts/fetch.sh", "#!/bin/sh\necho sunny\n")
	got, err := b.Library.Import(t.Context(), b.Workspace.ID, archive, "import", nil)
	testkit.Must(t, err)
	if got.Head.Status != skill.Candidate || got.Head.Description != "Tells the weather: for a place and a day." {
		t.Errorf("imported %+v", got.Head)
	}
	_, same, v, err := b.Library.Package(t.Context(), b.Workspace.ID, got.Head.ID, 0, "")
	testkit.Must(t, err)
	if !bytes.Equal(same, archive) {
		t.Error("the package is not the one that came")
	}
	if !strings.Contains(v.Document().Procedure, strings.TrimSpace(long)) || len(v.Document().Examples) != 1 ||
		len(v.Files) != 2 {
		t.Errorf("document %+v, files %+v", v.Document(), v.Files)
	}
	if found, err := b.Finder.Skills(t.Context(), b.Workspace.ID, "weather report", 5); err != nil || len(found) != 0 {
		t.Errorf("search shows a candidate: %+v, %v", found, err)
	}

	again, err := b.Library.Import(t.Context(), b.Workspace.ID, archive, "import", nil)
	if err != nil || !again.Same || again.Head.Version != 1 {
		t.Errorf("the same package again: %+v, %v", again, err)
	}
	head, err := b.Library.Approve(t.Context(), b.Workspace.ID, got.Head.ID, approval.Decision{})
	if err != nil || head.Status != skill.Active {
		t.Fatalf("approved: %+v, %v", head, err)
	}
	if found, err := b.Finder.Skills(t.Context(), b.Workspace.ID, "weather report", 5); err != nil || len(found) != 1 ||
		!found[0].Exact {
		t.Errorf("search finds %+v, %v", found, err)
	}

	changed, err := b.Library.Import(t.Context(), b.Workspace.ID,
		zipOf(t, "weather-report/SKILL.md", strings.Replace(markdown, "Run the script", "Read the sky", 1)), "import",
		nil)
	if err != nil || changed.Pending == 0 || changed.Head.Version != 1 {
		t.Fatalf("a change of a skill in force: %+v, %v", changed, err)
	}
	head, err = b.Library.ApproveChange(t.Context(), b.Workspace.ID, changed.Pending, approval.Decision{})
	if err != nil || head.Version != 2 {
		t.Errorf("approved change: %+v, %v", head, err)
	}
	if _, err := b.Library.ApproveChange(t.Context(), b.Workspace.ID,
		changed.Pending, approval.Decision{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("approved twice: %v", err)
	}
}

func TestARejectedChangeLeavesNothing(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	markdown := func(step string) string {
		return "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. " + step + "\n"
	}
	first, err := b.Library.Import(t.Context(), b.Workspace.ID, zipOf(t, "tea/SKILL.md", markdown("Boil water")),
		"import", &approval.Override{})
	if err != nil || first.Head.Status != skill.Active {
		t.Fatalf("trusted import: %+v, %v", first, err)
	}
	second, err := b.Library.Import(t.Context(), b.Workspace.ID, zipOf(t, "tea/SKILL.md", markdown("Buy a kettle")),
		"import", nil)
	testkit.Must(t, err)
	testkit.Must(t, b.Library.RejectChange(t.Context(), b.Workspace.ID, second.Pending))
	if n := count(b, "select count(*) from cairn.packages where state = 'live'"); n != 1 {
		t.Errorf("%d packages are live, want the one in force: the other is for collection", n)
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		head, err := q.Skills().SkillHead(ctx, first.Head.ID)
		if head.Version != 1 {
			t.Errorf("head %+v", head)
		}
		return err
	})
}

func TestImportRefusesHarmfulPackagesWithoutATrace(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	good := "---\nname: x\ndescription: d\n---\n\n## Procedure\n1. a\n"
	many := []string{"x/SKILL.md", good}
	for i := range 51 {
		many = append(many, "x/reference/"+strings.Repeat("f", i+1)+".md", "x")
	}
	for name, archive := range map[string][]byte{
		"no zip": []byte("not a zip"), "no SKILL.md": zipOf(t, "x/readme.md", "x"),
		"climbing": zipOf(t, "x/SKILL.md", good, "../x", "x"), "absolute": zipOf(t, "x/SKILL.md", good, "/etc/x", "x"),
		"two roots": zipOf(t, "x/SKILL.md", good, "y/SKILL.md", good), "too many": zipOf(t, many...),
		"bomb": zipOf(t, "x/SKILL.md", good, "x/reference/a.md", strings.Repeat("0", 6<<20)),
	} {
		if _, err := b.Library.Import(
			t.Context(),
			b.Workspace.ID,
			archive,
			"import",
			&approval.Override{},
		); err == nil ||
			fault.From(err).Hint == "" ||
			fault.CodeOf(err) == fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := count(b, "select (select count(*) from cairn.skills) + (select count(*) from cairn.packages)"); n != 0 ||
		len(tree(t, b.Packages)) != 0 {
		t.Errorf("%d rows, objects %v", n, tree(t, b.Packages))
	}
}

func TestUsesCountOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	got, err := b.Library.Import(t.Context(), b.Workspace.ID,
		zipOf(t, "tea/SKILL.md", "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Boil\n"), "import",
		&approval.Override{})
	testkit.Must(t, err)
	uses := []struct{ id, outcome string }{{"a", ""}, {"a", ""}, {"a", "pass"}, {"a", "pass"}, {"b", "pass"},
		{"b", "fail"}, {"c", ""}} // the latest outcome of a use counts
	for _, u := range uses {
		testkit.Must(t, b.Library.RecordUse(t.Context(), b.Workspace.ID, libraryUse(got.Head.ID, u.id, u.outcome)))
	}
	if n := count(b, "select uses * 100 + trials * 10 + passes from cairn.skills"); n != 3*100+2*10+1 {
		t.Errorf("uses, trials, passes read as digits: %d, want 321", n)
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		h, err := q.Skills().SkillHead(ctx, got.Head.ID)
		if h.Eta < 0.499 || h.Eta > 0.501 { // (0.5 + 1 + 0) / 3
			t.Errorf("reliability %v, want 0.5", h.Eta)
		}
		return err
	})
}

func zipOf(t *testing.T, members ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		f, err := w.Create(members[i])
		testkit.Must(t, err)
		_, err = f.Write([]byte(members[i+1]))
		testkit.Must(t, err)
	}
	testkit.Must(t, w.Close())
	return out.Bytes()
}
