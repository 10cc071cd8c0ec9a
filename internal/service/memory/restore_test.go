package memory_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

func (b *bundle) remove(id string) {
	b.t.Helper()
	_, err := b.Remove(b.t.Context(), b.User(), memories.RemoveArgs{Match: id})
	testkit.Must(b.t, err)
}

// A removed entry is restored under its ID, also if the answer was lost, and each former version of it.
func TestARemovedEntryKeepsItsID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.save("core", "The staging host is quartz")
	_, err := b.Replace(t.Context(), b.User(), memories.ReplaceArgs{Match: id,
		Content: "The staging host is quartz-2"})
	testkit.Must(t, err)
	b.remove(id)
	a, in := b.User(), memories.PromptRestoreArgs{ID: id}
	crashing := *b.PromptService
	crashing.Store = promptLosing(b.PromptService.Store)
	if _, err := crashing.Restore(t.Context(), a, in); !errors.Is(err, errPromptLost) {
		t.Fatalf("the crash: %v", err)
	}
	once := b.rows()
	for range 2 {
		out, err := b.Restore(t.Context(), a, in)
		testkit.Must(t, err)
		if out.Action != memories.Restored || !reflect.DeepEqual(out.IDs, []string{id}) || out.Usage == 0 {
			t.Errorf("%+v", out)
		}
	}
	if got := b.rows(); got != once || b.says() != "core: The staging host is quartz-2" {
		t.Errorf("rows after the crash %s, after the retries %s: %s", once, got, b.says())
	}
	out, err := b.Restore(t.Context(), b.User(), memories.PromptRestoreArgs{ID: id, Version: 1})
	testkit.Must(t, err)
	if out.Action != memories.Restored || b.says() != "core: The staging host is quartz" {
		t.Errorf("%+v, %s", out, b.says())
	}
	if out, err = b.Restore(t.Context(), b.User(), memories.PromptRestoreArgs{ID: id}); err != nil ||
		out.Action != memories.Unchanged {
		t.Errorf("what is in force: %+v, %v", out, err)
	}
	history, err := b.History(t.Context(), b.User(), id, 10)
	testkit.Must(t, err)
	var actions []memory.Action
	for _, r := range history {
		actions = append(actions, r.Action)
	}
	if want := []memory.Action{"restore", "restore", "remove", "replace", "add"}; !reflect.DeepEqual(actions, want) {
		t.Errorf("history %q", actions)
	}
	found, err := b.Search(t.Context(), b.User(), memories.SearchArgs{Query: "staging host quartz"})
	if err != nil || len(found.Results) != 1 || found.Results[0].ID != id {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestARestorationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	restore := func(a agent.Actor, id string, version int) error {
		_, err := b.Restore(t.Context(), a, memories.PromptRestoreArgs{ID: id, Version: version})
		return err
	}
	id := b.save("core", "The intern sits upstairs")
	b.remove(id)
	promptWants(t, "by an agent", restore(in(b.Actor(agent.OriginAgent), "run_1"), id, 0), fault.OutOfScope)
	promptWants(t, "an unknown version", restore(b.User(), id, 9), fault.NotFound)
	promptWants(t, "an unknown entry", restore(b.User(), "0123456789abcdef", 0), fault.NotFound)
	other := b.User()
	other.Workspace = b.B.ID
	promptWants(t, "an entry of another workspace", restore(other, id, 0), fault.NotFound)
	again := b.save("core", "The intern sits upstairs")
	promptWants(t, "what another entry says", restore(b.User(), id, 0), fault.VersionConflict)
	b.remove(again)
	b.save("core", "Deploys on Fridays are forbidden")
	b.Exec("update memories set updated_at = now() - $1::interval", 8*24*time.Hour)
	promptWants(t, "after the undo period", restore(b.User(), id, 0), fault.NotFound)
	if b.says() != "core: Deploys on Fridays are forbidden" {
		t.Errorf("remembers %q", b.says())
	}
}

// Prompt sessions in progress are made again if a text is replaced.
func TestARestorationOfAnActiveEntryReplacesItsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.save("profile", "Lives in Osaka")
	_, err := b.Replace(t.Context(), b.User(), memories.ReplaceArgs{Store: "profile", Match: id,
		Content: "Lives in Kyoto"})
	testkit.Must(t, err)
	withdrawn := func() int { // how often, since the workspace exists
		return b.Number("select sessions_epoch from workspaces where id = $1", b.A.ID)
	}
	before := withdrawn()
	for _, c := range []struct {
		version, revoked int
	}{{1, 1}, {1, 1}, {2, 2}} {
		_, err = b.Restore(t.Context(), b.User(), memories.PromptRestoreArgs{ID: id, Version: c.version})
		testkit.Must(t, err)
		if n := withdrawn() - before; n != c.revoked {
			t.Errorf("version %d: sessions were withdrawn %d times, want %d", c.version, n, c.revoked)
		}
	}
	if b.says() != "profile: Lives in Kyoto" {
		t.Errorf("remembers %q", b.says())
	}
}
