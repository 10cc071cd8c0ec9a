package memory_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

func TestTwoPersonsKeepTheSameSentence(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	alice := l.add(l.about(memory.Personal, "alice", "", ""), "Likes green tea")
	bob := l.add(l.about(memory.Personal, "bob", "", ""), "Likes green tea")
	if statuses(alice)+statuses(bob) != "addedadded" || alice[0].ID == bob[0].ID {
		t.Errorf("%+v, %+v", alice, bob)
	}
	again := l.add(l.about(memory.Personal, "alice", "", l.session("again")), "Likes green tea", "Likes green tea")
	if statuses(again) != "already_exists already_exists" || again[0].ID != alice[0].ID ||
		len(l.entry(alice[0].ID).Histories) != 1 {
		t.Errorf("%+v, %+v", again, l.entry(alice[0].ID))
	}
	if n := l.Number("select count(*) from memories where status = 'active'"); n != 2 {
		t.Errorf("%d memories, want 2", n)
	}
}

func TestAnUpdateKeepsWhatAMemoryIs(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	first, second := l.session("one"), l.session("two")
	a := l.about(memory.Procedural, "deploy", "", first)
	made, err := l.AddMemories(t.Context(), a,
		[]memories.NewMemory{{Content: "Run the tests", WhenToUse: "before a release",
			Metadata: memory.Metadata{"by": "ci", "step": 1.0}}})
	testkit.Must(t, err)
	before := l.entry(made[0].ID)
	out, err := l.UpdateMemories(t.Context(), l.about(memory.Procedural, "deploy", "", second),
		[]memories.ChangedMemory{{ID: before.ID, Content: "Run all tests twice",
			Metadata: memory.Metadata{"by": nil, "ok": true}}})
	testkit.Must(t, err)
	after := l.entry(before.ID)
	if statuses(out) != "updated" || after.Content != "Run all tests twice" || after.WhenToUse != "before a release" ||
		!after.CreatedAt.Equal(before.CreatedAt) || after.Version != 2 {
		t.Errorf("%+v: %+v", out, after)
	}
	if got := strings.Join(after.Histories, " "); got != first+" "+second {
		t.Errorf("sessions %s", got)
	}
	if len(after.Metadata) != 2 || after.Metadata["ok"] != true || after.Metadata["step"] != 1.0 {
		t.Errorf("metadata %v", after.Metadata)
	}
	if text := l.text("select text from search_docs where kind = 'memory'"); text != "before a release" {
		t.Errorf("embeds %q", text)
	}
}

func (l *long) text(sql string, args ...any) (s string) {
	l.t.Helper()
	testkit.Must(l.t, l.Admin.QueryRow(l.t.Context(), sql, args...).Scan(&s))
	return s
}

func TestChangesStayInsideTheirScope(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	history := l.session("hello")
	alice := l.add(l.about(memory.Personal, "alice", "", history), "Likes green tea")[0].ID
	bob := l.add(l.about(memory.Personal, "bob", "", history), "Plays chess")[0].ID
	other := l.about(memory.Personal, "alice", "", "")
	other.Workspace = l.B.ID
	foreign := l.add(other, "Lives elsewhere")[0].ID
	core := l.save("core", "The staging host is quartz")
	gone := l.add(l.about(memory.Personal, "alice", "", ""), "Is on holiday")[0].ID
	_, err := l.DeleteMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
		[]memories.DeleteRequest{{ID: gone}})
	testkit.Must(t, err)
	held := l.holds()
	for _, c := range []struct {
		id   string
		code fault.Code
	}{{bob, fault.OutOfScope}, {foreign, fault.NotFound}, {core, fault.OutOfScope}, {history, fault.OutOfScope},
		{"ffffffffffffffff", fault.NotFound}, {"'; drop", fault.NotFound}, {gone, fault.NotFound}} {
		_, err := l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
			[]memories.ChangedMemory{{ID: c.id, Content: "Is mine"}})
		wants(t, "update "+c.id, err, c.code)
		_, err = l.DeleteMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
			[]memories.DeleteRequest{{ID: c.id}})
		wants(t, "delete "+c.id, err, c.code)
	}
	if got := l.holds(); got != held {
		t.Errorf("holds %s, before %s", got, held)
	}
	out, err := l.DeleteMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
		[]memories.DeleteRequest{{Index: 0, ID: bob}, {Index: 1, ID: alice}, {Index: 2, ID: "x"}})
	testkit.Must(t, err)
	if got := statuses(out); got != "failed/out_of_scope deleted failed/not_found" {
		t.Errorf("items %s", got)
	}
}

func TestAnUpdateToWhatIsSaidAlreadyMakesOneOfTwo(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	one, two := l.session("one"), l.session("two")
	first := l.add(l.about(memory.Personal, "alice", "", one), "Likes tea")[0].ID
	second := l.add(l.about(memory.Personal, "alice", "", two), "Likes green tea")[0].ID
	out, err := l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
		[]memories.ChangedMemory{{ID: first, Content: "Likes green tea"}})
	testkit.Must(t, err)
	if statuses(out) != "merged" || out[0].ID != second || out[0].Merged != first {
		t.Errorf("%+v", out)
	}
	kept, gone := l.entry(second), l.entry(first)
	if len(kept.Histories) != 2 || gone.Status != memory.Superseded || gone.SupersededBy != second {
		t.Errorf("%+v, %+v", kept, gone)
	}
	_, err = l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
		[]memories.ChangedMemory{{ID: first, Content: "x"}})
	wants(t, "what was merged", err, fault.NotFound)
}

func TestAStaleVersionIsAConflict(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	id := l.add(l.about(memory.Personal, "alice", "", ""), "v1")[0].ID
	_, err := l.UpdateMemories(t.Context(), l.about(memory.Personal, "alice", "", ""),
		[]memories.ChangedMemory{{ID: id, Content: "v2"}})
	testkit.Must(t, err)
	one := 1
	_, err = l.UpdateMemories(t.Context(), l.User(), []memories.ChangedMemory{{ID: id, Content: "v3", Expected: &one}})
	wants(t, "version 1", err, fault.VersionConflict)
	if got := l.entry(id).Content; got != "v2" {
		t.Errorf("says %q", got)
	}
}

func TestAToolHasOneGuideline(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a := func() agent.Actor { return l.about(memory.Guideline, "whatever", "", "") }
	_, err := l.AddMemories(t.Context(), a(), []memories.NewMemory{{Content: "Ask for less"}})
	wants(t, "without the tool's name", err, fault.InvalidArgument)
	first, err := l.AddMemories(t.Context(), a(),
		[]memories.NewMemory{{Content: "Ask for less", WhenToUse: "web_search"},
			{Index: 1, Content: "Ask for less", WhenToUse: "sql"}})
	testkit.Must(t, err)
	second, err := l.AddMemories(t.Context(), a(),
		[]memories.NewMemory{{Content: "Quote names", WhenToUse: "web_search"}})
	testkit.Must(t, err)
	if statuses(first)+" "+statuses(second) != "added added updated" || second[0].ID != first[0].ID {
		t.Errorf("%+v, %+v", first, second)
	}
	_, err = l.UpdateMemories(t.Context(), a(), []memories.ChangedMemory{{ID: first[0].ID, Content: "Quote all names"}})
	testkit.Must(t, err)
	find := func(query string) string {
		return l.lines(a(), memories.RetrieveArgs{Wants: []memories.Query{{Query: query}}})
	}
	if got := find("web_search"); !strings.Contains(got, "(tool/tool_guidelines) web_search: Quote all names") ||
		strings.Contains(got, "\n") {
		t.Errorf("found %q", got)
	}
	if got := find("web search"); got != memories.NothingFound {
		t.Errorf("another name finds %q", got)
	}
}

func TestSecretsAndAttacksAreNotRemembered(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	for name, m := range map[string]memories.NewMemory{
		"a secret": {Content: "The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"},
		"a secret in the metadata": {Content: "Has a key",
			Metadata: memory.Metadata{"key": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"}},
		"too long": {Content: strings.Repeat("x", memory.LongTermBytes+1)},
		"nothing":  {Content: " \n"},
	} {
		_, err := l.AddMemories(t.Context(), l.about(memory.Personal, "alice", "", ""), []memories.NewMemory{m})
		if err == nil {
			t.Errorf("%s was remembered", name)
		}
	}
	if n := l.Number("select count(*) from memories"); n != 0 {
		t.Errorf("%d memories", n)
	}
}

func TestARunChangesOnlyWhatItWasShown(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	run := l.Run()
	id := l.add(l.about(memory.Personal, "alice", "", ""), "Likes green tea")[0].ID
	a := l.about(memory.Personal, "alice", run, "")
	a.Subject.ShownOnly = true
	change := []memories.ChangedMemory{{ID: id, Content: "Likes black tea"}}
	_, err := l.UpdateMemories(t.Context(), a, change)
	wants(t, "before it was shown", err, fault.OutOfScope)
	seen := l.about(memory.Personal, "alice", run, "")
	l.lines(seen, memories.RetrieveArgs{Wants: []memories.Query{{Query: "green tea"}}})
	l.lines(seen, memories.RetrieveArgs{Wants: []memories.Query{{Query: "green tea"}}})
	_, err = l.UpdateMemories(t.Context(), a, change)
	testkit.Must(t, err)
	if e := l.entry(id); e.Content != "Likes black tea" || e.Retrieved != 1 {
		t.Errorf("%+v", e)
	}
}

func TestAWriterWhoseTargetHasGoneToAnotherIsRefused(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a := l.about(memory.Personal, "alice", "", "")
	first, err := l.TakeLease(t.Context(), a, "one", 60e9)
	testkit.Must(t, err)
	again, err := l.TakeLease(t.Context(), a, "one", 60e9)
	testkit.Must(t, err)
	if again.Fence != first.Fence {
		t.Errorf("its own lease has fence %d, then %d", first.Fence, again.Fence)
	}
	_, err = l.TakeLease(t.Context(), a, "two", 60e9)
	wants(t, "while another has it", err, fault.Unavailable)
	if _, err := l.TakeLease(t.Context(), l.about(memory.Personal, "bob", "", ""), "two", 60e9); err != nil {
		t.Errorf("another target: %v", err)
	}
	write := func(fence int64, content string) error {
		a := l.about(memory.Personal, "alice", "", "")
		a.Subject.Fence = fence
		_, err := l.AddMemories(t.Context(), a, []memories.NewMemory{{Content: content}})
		return err
	}
	testkit.Must(t, write(first.Fence, "Likes tea"))
	l.Exec("update memory_leases set lease_until = now() - interval '1 second'")
	second, err := l.TakeLease(t.Context(), a, "two", 60e9)
	testkit.Must(t, err)
	wants(t, "the first holder", write(first.Fence, "Likes milk"), fault.VersionConflict)
	testkit.Must(t, write(second.Fence, "Likes cocoa"))
	testkit.Must(t, l.FreeLease(t.Context(), a, first)) // no longer its own lease
	_, err = l.TakeLease(t.Context(), a, "three", 60e9)
	wants(t, "after another gave it back", err, fault.Unavailable)
	testkit.Must(t, l.FreeLease(t.Context(), a, second))
	third, err := l.TakeLease(t.Context(), a, "three", 60e9)
	testkit.Must(t, err)
	if third.Fence <= second.Fence || second.Fence <= first.Fence {
		t.Errorf("fences %d, %d, %d", first.Fence, second.Fence, third.Fence)
	}
}

// doubtful might be an attack: a word joiner divides a name.
const doubtful = "Works at AC\u2060ME in Oslo"

// No person reads a run of an agent for memories, so what the scan doubts waits for one.
func TestWhatTheScanDoubtsIsStagedWithoutAPerson(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	session := l.session("one")
	a := func() agent.Actor { return l.about(memory.Personal, "alice", "", session) }
	good := l.add(a(), "Works at ACME")
	out := l.add(a(), doubtful, "Likes tea")
	if statuses(out) != "staged added" {
		t.Fatalf("%+v", out)
	}
	waiting := l.entry(out[0].ID)
	docs := l.Number("select count(*) from search_docs where kind = 'memory'")
	if waiting.Status != memory.Quarantined || docs != 2 {
		t.Errorf("it is %s, and %d documents are searched", waiting.Status, docs)
	}
	_, err := l.UpdateMemories(t.Context(), a(),
		[]memories.ChangedMemory{{ID: good[0].ID, Content: doubtful + "!"}})
	wants(t, "a doubtful change", err, fault.BlockedContent)
	if kept := l.entry(good[0].ID); kept.Content != "Works at ACME" || kept.Status != memory.Active {
		t.Errorf("the memory in use is %+v", kept)
	}
	_, err = l.Restore(t.Context(), l.User(), memories.RestoreArgs{ID: waiting.ID})
	testkit.Must(t, err)
	if now := l.entry(waiting.ID); now.Status != memory.Active || now.Tainted {
		t.Errorf("approved, it is %+v", now)
	}
	byPerson := l.User()
	byPerson.Subject = agent.MemoryScope{Type: string(memory.Personal), Target: "alice"}
	if out := l.add(byPerson, doubtful+", Norway"); statuses(out) != "added" {
		t.Errorf("a person's: %+v", out)
	}
}
