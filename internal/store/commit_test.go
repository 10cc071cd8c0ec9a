package store_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// packaged returns a task of its own run whose package is ready for the commit. Base 0 creates a
// skill with that name.
func (b *bundle) packaged(request, name, body string, skillID int64, base int) distillation.Task {
	b.t.Helper()
	r, _ := b.accept(b.wish(request, request))
	sum := sha256.Sum256([]byte(name + body))
	t := distillation.Task{Ref: r.Ref, Key: "t-" + request, Name: name, Lang: "en"}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		testkit.Must(b.t, q.Tasks().PutTasks(ctx, []distillation.Task{t}))
		testkit.Must(b.t, q.Tasks().SaveRecall(ctx, t))
		t.Draft = &skill.Draft{Name: name}
		testkit.Must(b.t, q.Tasks().SaveDraft(ctx, t, nil))
		t.Package = &distillation.Package{Skill: skillID, Base: base, Bytes: len(body), State: skill.Active,
			Version: skill.Version{Name: name, DisplayName: name, Description: body, Body: body, Lang: "en",
				ContentSHA: sum, PackageSHA: sum, PackageKey: "key/" + request, Origin: "distill",
				Sources: []skill.Source{{Conversation: r.Conversation, From: 0, To: 0}},
				Files:   []skill.File{{Path: "scripts/x.py", Content: body}}}}
		testkit.Must(b.t, q.Packages().TouchPackage(ctx, sum, t.Package.Version.PackageKey, len(body)))
		return q.Tasks().SavePackage(ctx, t)
	})
	return t
}

// commit commits a task with words and, when there is one, a vector.
func (b *bundle) commit(t distillation.Task, vector ...float32) (contract.PublishResult, error) {
	b.t.Helper()
	space, err := b.Space(b.t.Context(), "m", 2)
	testkit.Must(b.t, err)
	doc := index.NewDoc(index.KindSkill, 0, "active", t.Package.Version.Body)
	return b.CommitVersion(b.t.Context(), t, distillation.Commit{Doc: doc, MergeSim: 0.9,
		Near: index.Query{Kind: index.KindSkill, States: []string{"active"}, Terms: doc.Terms, Vector: vector,
			Space: space, Limit: 5}})
}

// versions counts the rows of skills: skills, versions, files, sources, documents.
func (b *bundle) versions() string {
	b.t.Helper()
	return b.texts(`select format('%s %s %s %s %s', (select count(*) from skills), (select count(*) from ` +
		`skill_versions), (select count(*) from skill_files),
  (select count(*) from skill_sources), (select count(*) from search_docs where kind = 'skill'))`)[0]
}

func TestACommitIsWrittenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := b.packaged("r1", "rollback", "roll back the release", 0, 0)
	for range 3 {
		c, err := b.commit(task, 1, 0)
		testkit.Must(t, err)
		if c.Conflict || c.Outcome != string(distillation.Created) || c.Version != 1 {
			t.Errorf("committed %+v", c)
		}
	}
	if got := b.versions(); got != "1 1 1 1 1" {
		t.Errorf("skills, versions, files, sources, documents: %s", got)
	}
	if got := b.texts("select state from packages"); got[0] != "live" {
		t.Errorf("the package is %s", got[0])
	}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		ended, err := q.Tasks().Task(ctx, task.Ref.Run, task.Key)
		if ended.Stage != distillation.EndedTask || ended.Outcome != distillation.Created || ended.Version != 1 {
			t.Errorf("task %+v", ended)
		}
		return err
	})
	b.counts()
}

// Case E10: the package is based on a head that is no longer active.
func TestACommitOnAnOldHeadIsAConflictAndWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.commit(b.packaged("r1", "rollback", "one", 0, 0), 1, 0)
	testkit.Must(t, err)
	stale := b.packaged("r3", "rollback", "three", first.Skill, 1)
	if c, err := b.commit(b.packaged("r2", "rollback", "two", first.Skill, 1), 1, 0); err != nil || c.Version != 2 {
		t.Fatalf("second: %+v, %v", c, err)
	}
	before := b.versions()
	for name, task := range map[string]distillation.Task{
		"a base that has been passed":     stale,
		"a name that has been taken":      b.packaged("r4", "rollback", "four", 0, 0),
		"a near duplicate made meanwhile": b.packaged("r5", "restore", "five", 0, 0),
	} {
		if c, err := b.commit(task, 1, 0); err != nil || !c.Conflict {
			t.Errorf("%s: %+v, %v; want a conflict", name, c, err)
		}
	}
	if after := b.versions(); after != before {
		t.Errorf("skills, versions, files, sources, documents: were %s, are %s", before, after)
	}
	if n := b.number("select count(*) from packages where state = 'live'"); n != 2 {
		t.Errorf("%d live packages, want 2", n)
	}
	stale.Package.Base = 2 // packaged again: other arguments, and nothing logged under the old ones
	if c, err := b.commit(stale, 1, 0); err != nil || c.Version != 3 || c.Outcome != string(distillation.Updated) {
		t.Errorf("on the head in force: %+v, %v", c, err)
	}
	b.counts()
}

// A database failure is not a conflict: packaging again would not help.
func TestACommitThatTheDatabaseRefusesIsNoConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.commit(b.packaged("r1", "rollback", "one", 0, 0), 1, 0)
	testkit.Must(t, err)
	second := b.packaged("r2", "rollback", "two", first.Skill, 1)
	for _, revoked := range []string{"(state) on packages", "(head_version) on skills"} {
		b.exec("revoke update " + revoked + " from cairn_app")
		if c, err := b.commit(second, 1, 0); fault.CodeOf(err) != fault.Unavailable || c.Conflict {
			t.Errorf("without update %s: %+v, %v; want %s", revoked, c, err, fault.Unavailable)
		}
		b.exec("grant update " + revoked + " to cairn_app")
	}
	if c, err := b.commit(second, 1, 0); err != nil || c.Version != 2 {
		t.Errorf("afterwards: %+v, %v", c, err)
	}
}

func TestACommitWithoutAVectorLeavesADuty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.commit(b.packaged("r1", "rollback", "one", 0, 0), 1, 0)
	testkit.Must(t, err)
	_, err = b.commit(b.packaged("r2", "rollback", "two", first.Skill, 1))
	testkit.Must(t, err)
	if n := b.number("select count(*) from embeddings"); n != 0 {
		t.Error("the old version's vector is stored for the new version's text")
	}
	if n := b.number("select count(*) from outbox where kind = 'embed' and key = (select doc::text from search_docs " +
		"where kind = 'skill') and due_at <= now()"); n != 1 {
		t.Errorf("%d duties to embed, want 1", n)
	}
}

// Case E11.
func TestACommitOnACondemnedPackageIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := b.packaged("r1", "rollback", "one", 0, 0)
	b.exec("update packages set touched_at = now() - interval '1 hour'")
	idle, err := b.IdlePackages(t.Context(), time.Minute, 9)
	if err != nil || len(idle) != 1 {
		t.Fatalf("idle %v, %v", idle, err)
	}
	collect := func() (removed int) {
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			key, err := q.Packages().CollectPackage(ctx, idle[0], time.Minute)
			if key != "" {
				removed++
			}
			return err
		})
		return removed
	}
	if n := collect(); n != 0 {
		t.Error("removed at the first look")
	}
	if c, err := b.commit(task, 1, 0); err != nil || !c.Conflict {
		t.Errorf("on a condemned package: %+v, %v; want a conflict", c, err)
	}
	if n := collect(); n != 0 {
		t.Error("removed before its grace")
	}
	touch := func() {
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			return q.Packages().TouchPackage(ctx, task.Package.Version.PackageSHA, task.Package.Version.PackageKey, 3)
		})
	}
	touch() // packaged again
	if c, err := b.commit(task, 1, 0); err != nil || c.Conflict {
		t.Errorf("after it was touched: %+v, %v", c, err)
	}
	touch() // the same bytes again: the package stays live
	b.exec("update packages set touched_at = now() - interval '1 hour'")
	for range 2 {
		if n := collect(); n != 0 {
			t.Error("a live package was removed")
		}
	}
	if got := b.texts("select state from packages"); len(got) != 1 || got[0] != "live" {
		t.Errorf("packages %v", got)
	}
}
