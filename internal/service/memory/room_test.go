package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// noted saves an entry as the agent of a run, and returns the result.
func (b *bundle) noted(run, content string) memories.WriteResult {
	b.t.Helper()
	out, err := b.Save(b.t.Context(), in(b.Actor(agent.OriginAgent), run), memories.SaveArgs{Content: content})
	testkit.Must(b.t, err)
	if out.Action != memories.Added || len(out.IDs) != 1 {
		b.t.Fatalf("save %q: %+v", content, out)
	}
	return out
}

// prompted returns the core memory of prompts.
func (b *bundle) prompted() string {
	b.t.Helper()
	m, err := b.Prompt(b.t.Context(), b.A.ID)
	testkit.Must(b.t, err)
	var out []string
	for _, line := range m.Core {
		out = append(out, line.Text)
	}
	return strings.Join(out, "|")
}

// found returns whether a search finds an entry.
func (b *bundle) found(query, id string) bool {
	b.t.Helper()
	out, err := b.Search(b.t.Context(), b.Actor(agent.OriginAgent), memories.SearchArgs{Query: query})
	testkit.Must(b.t, err)
	return slices.ContainsFunc(out.Results, func(r memories.FoundMemory) bool { return r.ID == id })
}

// core makes room for two entries of 20 characters.
func core(b *bundle) { b.Choose(func(s *settings.Settings) { s.Limits.CoreRunes = 42 }) }

func TestAFullStoreMovesEntriesToLongTermMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	first := b.noted(b.Run(), "Quinoa is on shelf A").IDs[0]
	b.noted(b.Run(), "Ladles are in a box.")
	const kept = `select type || target || content || origin || tainted || coalesce(run_id, '') || status ||
		coalesce(conversation_id, 0) || created_at || updated_at from memories where external_id = $1`
	before := b.Text(kept, first)
	out := b.noted(b.Run(), "Sieves hang on hooks")
	if !slices.Equal(out.Moved, []string{first}) || out.Usage > 100 {
		t.Errorf("%+v: wants %s moved", out, first)
	}
	if b.prompted() != "Ladles are in a box.|Sieves hang on hooks" {
		t.Errorf("prompts contain %q", b.prompted())
	}
	if !b.found("quinoa shelf", first) {
		t.Error("a search does not find what has moved")
	}
	if after := b.Text(kept, first); after != before {
		t.Errorf("the entry is now %q, was %q", after, before)
	}
	history, err := b.History(t.Context(), b.User(), first, 9)
	testkit.Must(t, err)
	if len(history) != 2 || history[0].Action != memory.Move || history[0].Run != history[1].Run ||
		history[0].Origin != history[1].Origin {
		t.Errorf("history %+v", history)
	}
	if again := b.noted(b.Run(), "Quinoa is on shelf A"); again.IDs[0] != first ||
		b.prompted() != "Quinoa is on shelf A|Sieves hang on hooks" {
		t.Errorf("said again: %+v, prompts contain %q", again, b.prompted())
	}
}

// What a search has shown is used, and what was said again is confirmed.
func TestUseAndConfirmationKeepAnEntryInThePrompt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	used := b.noted(b.Run(), "Quinoa is on shelf A").IDs[0]
	_, err := b.Search(t.Context(), in(b.Actor(agent.OriginAgent), b.Run()), memories.SearchArgs{Query: "quinoa"})
	testkit.Must(t, err)
	second := b.noted(b.Run(), "Ladles are in a box.").IDs[0]
	if out := b.noted(b.Run(), "Sieves hang on hooks"); !slices.Equal(out.Moved, []string{second}) {
		t.Errorf("%v moved, %s is used and %s is not", out.Moved, used, second)
	}
	b.Exec("update memories set retrieve_count = 0")
	_, err = b.Save(t.Context(), b.Actor(agent.OriginAgent), memories.SaveArgs{Content: "Quinoa is on shelf A"})
	testkit.Must(t, err)
	if out := b.noted(b.Run(), "Bowls are on shelf C"); slices.Contains(out.Moved, used) {
		t.Errorf("%v moved, though it was just said again", out.Moved)
	}
}

func TestWhatAPersonWroteOrApprovedIsNotDisplacedByAnAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	id := b.stage("core", "Quinoa is on shelf A")
	_, err := b.Approve(t.Context(), b.User(), id, approval.Decision{})
	testkit.Must(t, err)
	b.save("core", "Ladles are in a box.")
	mine := b.prompted()
	out := b.noted(b.Run(), "Sieves hang on hooks")
	if !slices.Equal(out.Moved, out.IDs) || b.prompted() != mine {
		t.Errorf("%+v, prompts contain %q", out, b.prompted())
	}
	if !b.found("sieves hooks", out.IDs[0]) {
		t.Error("what the agent wrote is not found")
	}
	third, err := b.Save(t.Context(), b.User(), memories.SaveArgs{Content: "Bowls are on shelf C"})
	testkit.Must(t, err)
	if len(third.Moved) != 1 || !strings.Contains(b.prompted(), "Bowls") {
		t.Errorf("a person writes: %+v, prompts contain %q", third, b.prompted())
	}
}

func TestUndoOfTheRunBringsBackWhatItMoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	long := &memories.LongTermService{Ports: memories.Ports{Store: b.promptDB.Store, Embedder: b.Embedder,
		Space:  b.PromptService.Space,
		Finder: b.Finder}}
	first := b.noted(b.Run(), "Quinoa is on shelf A").IDs[0]
	b.noted(b.Run(), "Ladles are in a box.")
	before, run := b.prompted(), b.Run()
	b.noted(run, "Sieves hang on hooks")
	later := b.noted(b.Run(), "Bowls are on shelf C").IDs[0]
	for range 2 { // a second undo changes nothing
		_, err := long.Undo(t.Context(), b.User(), memories.UndoArgs{Run: run})
		testkit.Must(t, err)
		if got := b.prompted(); got != "Quinoa is on shelf A|Bowls are on shelf C" {
			t.Fatalf("prompts contain %q, before the run %q", got, before)
		}
	}
	if e, err := b.Get(t.Context(), b.User(), first); err != nil || e.Moved || e.Version != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	if !b.found("bowls shelf", later) || b.found("sieves hooks", "") {
		t.Error("a search does not find what stayed")
	}
}

// A change that waits is about the content, which a move leaves as it is.
func TestAPendingChangeOfAMovedEntryIsApproved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	first := b.noted(b.Run(), "Quinoa is on shelf A").IDs[0]
	b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = settings.GateAutonomous })
	staged, err := b.Replace(t.Context(), in(b.Actor(agent.OriginNudge), b.Run()),
		memories.ReplaceArgs{Store: "core", Match: "Quinoa", Content: "Quinoa is on shelf B"})
	testkit.Must(t, err)
	b.noted(b.Run(), "Ladles are in a box.")
	if out := b.noted(b.Run(), "Sieves hang on hooks"); !slices.Equal(out.Moved, []string{first}) {
		t.Fatalf("%+v", out)
	}
	decided, err := b.Approve(t.Context(), b.User(), staged.Pending, approval.Decision{})
	if err != nil || decided.State != "approved" || !strings.Contains(b.prompted(), "shelf B") {
		t.Errorf("%+v, %v, prompts contain %q", decided, err, b.prompted())
	}
}

func TestAMovedEntryIsChangedByItsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core(b)
	for i := range 9 {
		b.noted(b.Run(), fmt.Sprintf("Box number %d is blue.", i))
	}
	_, err := b.Remove(t.Context(), b.User(), memories.RemoveArgs{Store: "core", Match: "number 0"})
	testkit.Must(t, err)
	_, err = b.Replace(t.Context(), b.User(), memories.ReplaceArgs{Store: "core", Match: "number 1",
		Content: "Box number 1 is red."})
	testkit.Must(t, err)
	if said := b.says(); strings.Contains(said, "number 0") || strings.Contains(said, "number 1 is blue") {
		t.Errorf("remembers %q", said)
	}
	if !strings.Contains(b.prompted(), "number 1 is red") {
		t.Errorf("prompts contain %q", b.prompted())
	}
}
