package memory_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

func TestUndoBringsBackExactlyWhatWasThere(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	one, two := l.session("one"), l.session("two")
	before := l.add(l.about(memory.Personal, "alice", "", one), "Likes tea", "Likes green tea", "Plays chess",
		"Lives in Osaka")
	_, err := l.UpdateIdentity(t.Context(), l.User(), memories.IdentityArgs{Content: "A kind guide"})
	testkit.Must(t, err)
	held := l.holds()

	run := l.Run()
	a := func() agent.Actor { return l.about(memory.Personal, "alice", run, two) }
	l.add(a(), "Plays go", "Likes tea") // the second exists and refers to the session
	_, err = l.UpdateMemories(t.Context(), a(), []memories.ChangedMemory{
		{ID: before[0].ID, Content: "Likes green tea"},                                             // merged
		{Index: 1, ID: before[3].ID, Content: "Lives in Kyoto", Metadata: memory.Metadata{"x": 1}}, // changed
	})
	testkit.Must(t, err)
	_, err = l.DeleteMemories(t.Context(), a(), []memories.DeleteRequest{{ID: before[2].ID}})
	testkit.Must(t, err)
	l.add(a(), "Plays chess", "Lives in Osaka") // the content that others wrote before, under new IDs
	l.add(l.about(memory.Procedural, "deploy", run, two), "Run the tests")
	sum := l.about("", "", run, two)
	_, err = l.AddSummary(t.Context(), sum, memories.SummaryArgs{Content: "About tea"})
	testkit.Must(t, err)
	_, err = l.UpdateIdentity(t.Context(), l.about(memory.Identity, "", run, two),
		memories.IdentityArgs{Content: "A strict guide"})
	testkit.Must(t, err)
	if l.holds() == held {
		t.Fatal("the run changed nothing")
	}

	undo := l.User()
	out, err := l.Undo(t.Context(), undo, memories.UndoArgs{Run: run})
	testkit.Must(t, err)
	if strings.Contains(statuses(out), memories.Failed) {
		t.Errorf("%+v", out)
	}
	if got := l.holds(); got != held {
		t.Errorf("holds\n%s\nbefore\n%s", got, held)
	}
	again, err := l.Undo(t.Context(), undo, memories.UndoArgs{Run: run})
	if err != nil || !reflect.DeepEqual(again, out) {
		t.Errorf("a retry gives %+v, %v", again, err)
	}
	if _, err := l.Undo(t.Context(), l.User(), memories.UndoArgs{Run: run}); err != nil || l.holds() != held {
		t.Errorf("a second undo: %v, holds %s", err, l.holds())
	}
}

// Runs of one request are undone together, whatever order they wrote in. Changes of others in
// between are skipped.
func TestRunsAreUndoneAsOne(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	before := l.add(l.about(memory.Personal, "alice", "", ""), "Likes tea")
	held := l.holds()
	one, two := l.Run(), l.Run()
	update := func(run, id, content string) {
		_, err := l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", run, ""),
			[]memories.ChangedMemory{{ID: id, Content: content}})
		testkit.Must(t, err)
	}
	made := l.add(l.about(memory.Personal, "alice", one, ""), "Plays chess", "Keeps bees")
	update(two, before[0].ID, "Likes green tea")
	update(two, made[0].ID, "Plays chess and go")
	update(one, before[0].ID, "Likes black tea")
	out, err := l.Undo(t.Context(), l.User(), memories.UndoArgs{Run: one, With: []string{two}})
	if err != nil || strings.Contains(statuses(out), memories.Failed) || l.holds() != held {
		t.Errorf("%v, %+v; holds\n%s\nbefore\n%s", err, out, l.holds(), held)
	}

	three, four := l.Run(), l.Run()
	update(three, before[0].ID, "Likes white tea")
	update("", before[0].ID, "Likes red tea") // by a user
	update(four, before[0].ID, "Likes blue tea")
	out, err = l.Undo(t.Context(), l.User(), memories.UndoArgs{Run: three, With: []string{four}})
	if !strings.Contains(l.holds(), "Likes blue tea") || err == nil &&
		!strings.Contains(statuses(out), memories.Failed) {
		t.Errorf("%v, %+v; holds\n%s", err, out, l.holds())
	}
}

func TestUndoLeavesWhatOthersHaveChangedSince(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	id := l.add(l.about(memory.Personal, "alice", "", ""), "v1")[0].ID
	run := l.Run()
	other := l.add(l.about(memory.Personal, "alice", run, ""), "Plays go")[0].ID
	change := func(run, content string) {
		_, err := l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", run, ""),
			[]memories.ChangedMemory{{ID: id, Content: content}})
		testkit.Must(t, err)
	}
	change(run, "v2")
	change(l.Run(), "v3")
	out, err := l.Undo(t.Context(), l.User(), memories.UndoArgs{Run: run})
	testkit.Must(t, err)
	if got := statuses(out); got != "failed/version_conflict undone" {
		t.Errorf("items %s", got)
	}
	if l.entry(id).Content != "v3" || l.entry(other).Status != memory.Removed {
		t.Errorf("%+v, %+v", l.entry(id), l.entry(other))
	}
	_, err = l.Undo(t.Context(), l.about(memory.Personal, "alice", run, ""), memories.UndoArgs{Run: run})
	wants(t, "an agent undoes", err, fault.OutOfScope)
}

func TestADeletedMemoryCanBeRestored(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a := func() agent.Actor { return l.about(memory.Personal, "alice", "", "") }
	id := l.add(a(), "v1")[0].ID
	_, err := l.UpdateMemories(t.Context(), a(), []memories.ChangedMemory{{ID: id, Content: "v2"}})
	testkit.Must(t, err)
	created := l.entry(id).CreatedAt
	_, err = l.DeleteMemories(t.Context(), a(), []memories.DeleteRequest{{ID: id}})
	testkit.Must(t, err)
	for version, want := range []string{"v2", "v1"} {
		_, err = l.Restore(t.Context(), l.User(), memories.RestoreArgs{ID: id, Version: version})
		testkit.Must(t, err)
		if e := l.entry(id); e.Content != want || e.Status != memory.Active || !e.CreatedAt.Equal(created) {
			t.Errorf("version %d: %+v, want %s", version, e, want)
		}
	}
	_, err = l.DeleteMemories(t.Context(), a(), []memories.DeleteRequest{{ID: id}})
	testkit.Must(t, err)
	last := l.entry(id)
	l.add(a(), last.Content)
	_, err = l.Restore(t.Context(), l.User(), memories.RestoreArgs{ID: id})
	wants(t, "what another says now", err, fault.VersionConflict)
	_, err = l.Restore(t.Context(), l.User(), memories.RestoreArgs{ID: id, Version: 99})
	wants(t, "a version that never was", err, fault.NotFound)
	_, err = l.Restore(t.Context(), a(), memories.RestoreArgs{ID: id})
	wants(t, "an agent restores", err, fault.OutOfScope)
}

// The worker dies between its commit and its reply.
func TestALongTermRetryAfterALostAnswerChangesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]func(l *long, k *memories.LongTermService, a agent.Actor, known string) (any,
		error){
		"add": func(l *long, k *memories.LongTermService, a agent.Actor, _ string) (any, error) {
			return k.AddMemories(l.t.Context(), a,
				[]memories.NewMemory{{Content: "Plays go"}, {Index: 1, Content: "Likes tea"}})
		},
		"update": func(l *long, k *memories.LongTermService, a agent.Actor, known string) (any, error) {
			return k.UpdateMemories(l.t.Context(), a,
				[]memories.ChangedMemory{{ID: known, Content: "Likes cocoa"}, {Index: 1, ID: "x", Content: "y"}})
		},
		"delete": func(l *long, k *memories.LongTermService, a agent.Actor, known string) (any, error) {
			return k.DeleteMemories(l.t.Context(), a, []memories.DeleteRequest{{ID: known}})
		},
		"summary": func(l *long, k *memories.LongTermService, a agent.Actor, _ string) (any, error) {
			return k.AddSummary(l.t.Context(), a, memories.SummaryArgs{Content: "About tea"})
		},
		"targets": func(l *long, k *memories.LongTermService, a agent.Actor, _ string) (any, error) {
			return k.AddTargets(l.t.Context(), a, []memories.NewTarget{{Type: memory.Procedural, Target: "deploy"}})
		},
		"history": func(l *long, k *memories.LongTermService, a agent.Actor, _ string) (any, error) {
			return k.AddHistory(l.t.Context(), a, dialog("Where is the key?", "Under the mat."))
		},
		"identity": func(l *long, k *memories.LongTermService, a agent.Actor, _ string) (any, error) {
			return k.UpdateIdentity(l.t.Context(), a, memories.IdentityArgs{Content: "A guide"})
		},
		"restore": func(l *long, k *memories.LongTermService, a agent.Actor, known string) (any, error) {
			a.Origin = agent.OriginUser
			return k.Restore(l.t.Context(), a, memories.RestoreArgs{ID: known, Version: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setupLong(t)
			l.t = t
			known := l.add(l.about(memory.Personal, "alice", "", ""), "Likes tea")[0].ID
			a := l.about(memory.Personal, "alice", l.Run(), l.session("hello"))
			crashing := *l.LongTermService
			crashing.Store = losing(l.LongTermService.Store)
			if _, err := c(l, &crashing, a, known); !errors.Is(err, errLost) {
				t.Fatalf("the crash: %v", err)
			}
			rows, held := l.longRows(), l.holds()
			first, err := c(l, l.LongTermService, a, known)
			testkit.Must(t, err)
			second, err := c(l, l.LongTermService, a, known)
			testkit.Must(t, err)
			if !reflect.DeepEqual(first, second) || l.longRows() != rows || l.holds() != held {
				t.Errorf("%+v and %+v; rows %s, then %s", first, second, rows, l.longRows())
			}
		})
	}
}

// Any order of adds, updates, deletes, restores and undos leaves one active row per content of a
// target, and one per guideline.
func TestNothingIsSaidTwiceWhateverHappens(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	contents := []string{"a", "b", "c", "d"}
	targets := []string{"alice", "bob"}
	var ids []string
	runs := []string{l.Run(), l.Run()}
	for i := range 150 {
		kind, target := memory.Personal, targets[r.IntN(2)]
		if r.IntN(3) == 0 {
			kind = memory.Guideline
		}
		a := l.about(kind, target, runs[r.IntN(2)], "")
		content := contents[r.IntN(len(contents))]
		id := "none"
		if len(ids) > 0 {
			id = ids[r.IntN(len(ids))]
		}
		var items []memories.ItemResult
		var err error
		switch r.IntN(8) {
		case 0, 1, 2:
			items, err = l.AddMemories(t.Context(), a, []memories.NewMemory{{Content: content, WhenToUse: target}})
		case 3, 4:
			items, err = l.UpdateMemories(t.Context(), a, []memories.ChangedMemory{{ID: id, Content: content}})
		case 5:
			items, err = l.DeleteMemories(t.Context(), a, []memories.DeleteRequest{{ID: id}})
		case 6:
			items, err = l.Restore(t.Context(), l.User(), memories.RestoreArgs{ID: id, Version: r.IntN(3)})
		case 7:
			if i%5 == 0 {
				items, err = l.Undo(t.Context(), l.User(), memories.UndoArgs{Run: runs[r.IntN(2)]})
			}
		}
		switch fault.CodeOf(err) {
		case "", fault.NotFound, fault.OutOfScope, fault.VersionConflict:
		default:
			t.Fatalf("seed %d, step %d: %v", seed, i, err)
		}
		for _, item := range items {
			if item.ID != "" {
				ids = append(ids, item.ID)
			}
		}
		if n := l.Number(`select count(*) from (select 1 from memories where status = 'active' group by ` +
			`workspace_id, type, target, content_sha256, case when type = 'tool' then when_to_use end having ` +
			`count(*) > 1) x`); n != 0 {
			t.Fatalf("seed %d: after step %d %d sentences stand twice", seed, i, n)
		}
	}
	// Search finds exactly the active memories, and every version is stored.
	if n := l.Number(`select count(*) from memories m full join search_docs d on d.kind = 'memory' and d.owner_id = ` +
		`m.id where (m.status = 'active') is distinct from (d.doc is not null)`); n != 0 {
		t.Errorf("seed %d: %d memories are active and not found, or the other way round", seed, n)
	}
	if n := l.Number(`select count(*) from memories m where m.version <> (select count(*) from memory_revisions r ` +
		`where r.memory_id = m.id)`); n != 0 {
		t.Errorf("seed %d: %d memories lack a revision", seed, n)
	}
	if len(ids) == 0 {
		t.Error("nothing was done")
	}
}
