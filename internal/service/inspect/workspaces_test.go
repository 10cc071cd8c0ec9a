package inspect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

func TestAWorkspaceIsFoundByItsName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 {
		if got, err := b.workspaces.Find(t.Context(), "a"); err != nil || got != b.A {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := b.workspaces.Find(t.Context(), "unknown")
	wants(t, "unknown", err, fault.NotFound)
	_, err = b.workspaces.Find(t.Context(), "")
	wants(t, "without a name", err, fault.InvalidArgument)
	_, err = b.workspaces.Find(t.Context(), strings.Repeat("a", 201))
	wants(t, "with a long name", err, fault.InvalidArgument)
	if n := b.Number("select count(*) from workspaces"); n != 2 {
		t.Errorf("there are %d workspaces: looking for one makes none", n)
	}
}

func (b *bundle) settings() settings.Settings {
	b.t.Helper()
	out, err := b.workspaces.Settings(b.t.Context(), b.A.ID)
	testkit.Must(b.t, err)
	return out
}

func TestAPatchChangesTheSettingsThatItNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.settings()
	patch := json.RawMessage(`{"memory":{"builder":"skills"},"nudge":{"every":4}}`)
	for range 2 {
		got, err := b.workspaces.ChangeSettings(t.Context(), b.A.ID, patch)
		testkit.Must(t, err)
		want := before
		want.Memory.Builder, want.Nudge.Every = settings.BuilderSkills, 4
		if !same(t, got, want) || !same(t, b.settings(), want) {
			t.Errorf("%+v, stored %+v", got, b.settings())
		}
	}
	if other, err := b.workspaces.Settings(t.Context(), b.B.ID); err != nil || !same(t, other, before) {
		t.Errorf("of another workspace: %+v, %v", other, err)
	}
}

// same compares settings as callers read them.
func same(t *testing.T, got, want settings.Settings) bool {
	t.Helper()
	a, err := json.Marshal(got)
	testkit.Must(t, err)
	b, err := json.Marshal(want)
	testkit.Must(t, err)
	return string(a) == string(b)
}

func TestSettingsThatCannotHoldChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.settings()
	for what, patch := range map[string]string{
		"no object":               `[]`,
		"no JSON":                 `{"memory":`,
		"a setting there is not":  `{"colour":"red"}`,
		"another builder":         `{"memory":{"builder":"elves"}}`,
		"an agent there is not":   `{"memory":{"builder":"skills","agents":{"personal":"v9"}}}`,
		"a time zone there isn't": `{"nudge":{"every":4},"time_zone":"Mars/Olympus"}`,
	} {
		_, err := b.workspaces.ChangeSettings(t.Context(), b.A.ID, json.RawMessage(patch))
		wants(t, what, err, fault.InvalidArgument)
		if got := b.settings(); !same(t, got, before) {
			t.Errorf("%s: stored %+v", what, got)
		}
	}
	refused := errors.New("nothing here can follow that")
	b.workspaces.Check = func(settings.LongTerm) error { return refused }
	_, err := b.workspaces.ChangeSettings(t.Context(), b.A.ID, json.RawMessage(`{"nudge":{"every":4}}`))
	if !errors.Is(err, refused) || !same(t, b.settings(), before) {
		t.Errorf("%v, stored %+v", err, b.settings())
	}
}

func TestInsightsCountTheRunsOfSomeDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks("c", "m1", "Hello!")
	old := b.asks("c", "m2", "Hello again!").Run
	b.distils("d")
	b.Exec("update runs set created_at = now() - interval '3 days' where id = $1", old.Ref.Run)
	for days, turns := range map[int]int{1: 1, 7: 2} {
		got, err := b.workspaces.Insights(t.Context(), b.A.ID, days)
		testkit.Must(t, err)
		counted := map[string]int{}
		for _, k := range got.Runs {
			counted[k.Kind] = k.Runs
		}
		if got.Days != days || counted["turn"] != turns || counted["distill"] != 1 || len(got.Skills) != 0 {
			t.Errorf("%d days: %+v", days, got)
		}
	}
	if other, err := b.workspaces.Insights(t.Context(), b.B.ID, 7); err != nil || len(other.Runs) != 0 {
		t.Errorf("of another workspace: %+v, %v", other, err)
	}
}

// remembers adds memories of a type about a target.
func (b *bundle) remembers(about memory.Type, target string, contents ...string) {
	b.t.Helper()
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.Space(b.t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(b.t, err)
	who := b.User()
	who.Subject = agent.MemoryScope{Type: string(about), Target: target}
	var in []memories.NewMemory
	for i, c := range contents {
		in = append(in, memories.NewMemory{Index: i, Content: c})
	}
	s := &memories.LongTermService{Ports: memories.Ports{Store: b.Store.Store, Embedder: embedder, Space: space}}
	_, err = s.AddMemories(b.t.Context(), who, in)
	testkit.Must(b.t, err)
}

func TestWhatAWorkspaceRemembersIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.remembers(memory.Personal, "vera", "Lives in Bergen.", "Likes green tea.")
	b.remembers(memory.Personal, "otto", "Sails.")
	b.remembers(memory.Procedural, "cook", "Peel the walnuts first.")
	b.Exchange("c", "m1", "Hello!", "Hello.")
	got, err := b.workspaces.Counts(t.Context(), b.A.ID)
	testkit.Must(t, err)
	if got.Workspace != "a" || got.Memories != 4 || got.Active != 4 || got.Targets != 3 || got.Conversations != 1 ||
		got.Messages != 2 || got.Souls != 0 {
		t.Errorf("%+v", got)
	}
	other, err := b.workspaces.Counts(t.Context(), b.B.ID)
	if err != nil || other.Workspace != "b" || other.Memories+other.Targets+other.Messages != 0 {
		t.Errorf("of another workspace: %+v, %v", other, err)
	}
}

func TestWhomMemoriesAreForIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.remembers(memory.Personal, "vera", "Lives in Bergen.", "Likes green tea.")
	b.remembers(memory.Procedural, "cook", "Peel the walnuts first.")
	got, err := b.workspaces.Entities(t.Context(), b.A.ID, 10)
	testkit.Must(t, err)
	if len(got) != 2 || got[0].Kind != "agent" || got[0].Name != "cook" || got[0].Memories != 1 ||
		got[1].Kind != "user" || got[1].Name != "vera" || got[1].Memories != 2 || got[1].LastAt.Before(got[1].FirstAt) {
		t.Errorf("%+v", got)
	}
	first, err := b.workspaces.Entities(t.Context(), b.A.ID, 1)
	if err != nil || len(first) != 1 || first[0].Name != "cook" {
		t.Errorf("%+v, %v", first, err)
	}
	if none, err := b.workspaces.Entities(t.Context(), b.B.ID, 10); err != nil || len(none) != 0 {
		t.Errorf("of another workspace: %+v, %v", none, err)
	}
}
