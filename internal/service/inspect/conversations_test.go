package inspect_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func (b *bundle) show(name string) inspect.ConversationDetail {
	b.t.Helper()
	out, err := b.threads.Show(b.t.Context(), b.A, name)
	testkit.Must(b.t, err)
	return out
}

func TestLinesAreReadInTheOrderInWhichTheyWereSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exchange("c", "m1", "one", "two")
	b.Exchange("c", "m2", "three", "four")
	for _, c := range []struct {
		after, max int
		want       string
	}{
		{-1, 10, "0/1 user one|1/1 assistant two|2/2 user three|3/2 assistant four|"},
		{1, 1, "2/2 user three|"},
		{3, 10, ""},
	} {
		lines, err := b.threads.Lines(t.Context(), b.A.ID, "c", c.after, c.max)
		testkit.Must(t, err)
		got := ""
		for _, l := range lines {
			got += fmt.Sprintf("%d/%d %s %s|", l.Seq, l.Turn, l.Role, l.Content)
		}
		if got != c.want {
			t.Errorf("after %d: %s, want %s", c.after, got, c.want)
		}
	}
}

func TestWhatASkillRestsOnIsReadFromItsConversations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.Exchange("c", "m1", "one", "two").Conversation
	second := b.Exchange("d", "m1", "three", "four").Conversation
	messages, last, err := b.threads.Sources(t.Context(), b.A.ID, []skill.Source{
		{Conversation: first, From: 1, To: 1}, {Conversation: second, From: 0, To: 1}})
	testkit.Must(t, err)
	if last != "d" || len(messages) != 3 || messages[0].Content != "two" || messages[2].Role != transcript.Assistant {
		t.Errorf("%+v, the last of %q", messages, last)
	}
	messages, last, err = b.threads.Sources(t.Context(), b.A.ID, nil)
	if err != nil || len(messages) != 0 || last != "" {
		t.Errorf("of nothing: %+v, %q, %v", messages, last, err)
	}
	messages, _, err = b.threads.Sources(t.Context(), b.B.ID, []skill.Source{{Conversation: first}})
	if err == nil || len(messages) != 0 {
		t.Errorf("of another workspace: %+v", messages)
	}
}

func TestAConversationIsShownWithItsReviews(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.Exchange("c", "m1", "Where does Vera live?", "In Bergen.").Conversation
	b.Exchange("c", "m2", "And Otto?", "In Oslo.")
	review := b.reviews(c, 2)
	for range 2 {
		got := b.show("c")
		if got.Name != "c" || got.Title != "Where does Vera live?" || got.Messages != 4 || got.Turns != 2 ||
			got.Counters.Total != 2 || got.Live != nil || got.ClosedAt != nil {
			t.Errorf("%+v", got)
		}
		if len(got.Nudges) != 1 || got.Nudges[0].Run != review.Ref.Run || got.Nudges[0].Status != "open" {
			t.Errorf("reviews %+v", got.Nudges)
		}
	}
}

func TestAConversationThatRunsTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exchange("c", "m1", "Hello!", "Hello.")
	w := &workflows{running: true, knows: contract.ConversationView{Turns: 7, Answers: "m2"}}
	b.threads.Workflows = w
	if got := b.show("c"); got.Live == nil || got.Live.Turns != 7 || got.Live.Answers != "m2" {
		t.Errorf("%+v", got.Live)
	}
	for what, change := range map[string]func(*workflows){
		"it does not run":       func(w *workflows) { w.running = false },
		"it does not answer":    func(w *workflows) { w.stateErr = errors.New("busy") },
		"Temporal is not there": func(w *workflows) { w.err = errors.New("away") },
	} {
		other := *w
		change(&other)
		b.threads.Workflows = &other
		if got := b.show("c"); got.Live != nil || got.Turns != 1 { // what is stored is told all the same
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestATurnIsCancelledByItsMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := &workflows{running: true}
	b.threads.Workflows = w
	cancel := func(message string) bool {
		t.Helper()
		asked, err := b.threads.Cancel(t.Context(), b.A, "c", message)
		testkit.Must(t, err)
		return asked
	}
	turn := b.asks("c", "m1", "Where does Vera live?").Run
	if !cancel("m1") || len(w.cancelled) != 1 || w.cancelled[0].Ref != turn.Ref ||
		w.cancelled[0].WorkflowID != turn.WorkflowID {
		t.Errorf("cancelled %+v", w.cancelled)
	}
	if cancel("") || len(w.cancelled) != 1 {
		t.Errorf("nothing is being answered: %+v", w.cancelled)
	}
	w.knows.Answers = "m1"
	if !cancel("") || len(w.cancelled) != 2 {
		t.Errorf("whichever is being answered: %+v", w.cancelled)
	}
	b.fails(turn.Ref)
	for _, message := range []string{"", "m1", "m2"} { // it has ended, though its workflow does not know it yet
		if cancel(message) {
			t.Errorf("%q was cancelled", message)
		}
	}
	b.AcceptMessage(conversation.Request{Conversation: "c", MessageID: "m3", Mode: contract.Observe,
		Messages: []transcript.Message{{Role: transcript.User, Content: "Hello!"}}})
	if cancel("m3") {
		t.Error("a turn that another program answers was cancelled")
	}
	b.asks("c", "m4", "And Otto?")
	w.running, w.knows.Answers = false, "m4"
	if cancel("") || len(w.cancelled) != 2 {
		t.Errorf("of a conversation that does not run: %+v", w.cancelled)
	}
}

func TestACancellationThatCannotBePassedOnIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks("c", "m1", "Where does Vera live?")
	for _, message := range []string{"", "m1"} {
		if asked, err := b.threads.Cancel(t.Context(), b.A, "c", message); err != nil || asked {
			t.Errorf("without Temporal, %q: %t, %v", message, asked, err)
		}
	}
	away := errors.New("Temporal is away")
	for _, w := range []*workflows{{err: away}, {running: true, stateErr: away}} {
		b.threads.Workflows = w
		if asked, err := b.threads.Cancel(t.Context(), b.A, "c", ""); !errors.Is(err, away) || asked {
			t.Errorf("%+v: %t, %v", w, asked, err)
		}
	}
	b.threads.Workflows = &workflows{err: away}
	if asked, err := b.threads.Cancel(t.Context(), b.A, "c", "m1"); !errors.Is(err, away) || asked {
		t.Errorf("%t, %v", asked, err)
	}
}

func TestAConversationIsEndedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exchange("c", "m1", "Hello!", "Hello.")
	end := func() inspect.ConversationDetail {
		t.Helper()
		out, err := b.threads.End(t.Context(), b.A, "c")
		testkit.Must(t, err)
		return out
	}
	first := end()
	if first.ClosedAt == nil || first.Counters != (nudge.Counters{Memory: 1, Skill: 1, Total: 1}) {
		t.Fatalf("%+v", first)
	}
	if again := end(); again.ClosedAt == nil || !again.ClosedAt.Equal(*first.ClosedAt) {
		t.Errorf("closed at %s, then at %v", first.ClosedAt, again.ClosedAt)
	}
	b.asks("c", "m2", "One more thing.")
	if got := b.show("c"); got.ClosedAt != nil {
		t.Errorf("the next message begins it again: %+v", got)
	}
}

// A running workflow ends its conversation itself.
func TestAConversationThatRunsIsToldToEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exchange("c", "m1", "Hello!", "Hello.")
	w := &workflows{running: true}
	b.threads.Workflows = w
	if got, err := b.threads.End(t.Context(), b.A, "c"); err != nil || got.ClosedAt != nil || w.ended != 1 {
		t.Errorf("%+v, %v; told %d times", got, err, w.ended)
	}
	b.threads.Workflows = &workflows{}
	if got, err := b.threads.End(t.Context(), b.A, "c"); err != nil || got.ClosedAt == nil {
		t.Errorf("that does not run: %+v, %v", got, err)
	}
	away := errors.New("Temporal is away")
	b.threads.Workflows = &workflows{err: away}
	if _, err := b.threads.End(t.Context(), b.A, "c"); !errors.Is(err, away) {
		t.Errorf("without Temporal: %v", err)
	}
}

func TestAConversationThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.Exchange("c", "m1", "Hello!", "Hello.")
	if id, err := b.threads.Find(t.Context(), b.A.ID, "c"); err != nil || id != turn.Conversation {
		t.Errorf("found %d, %v; want %d", id, err, turn.Conversation)
	}
	for what, c := range map[string]struct {
		ws   access.Workspace
		name string
	}{"unknown": {b.A, "d"}, "without a name": {b.A, ""}, "of another workspace": {b.B, "c"}} {
		for method, ask := range map[string]func() error{
			"Find":   func() error { _, err := b.threads.Find(t.Context(), c.ws.ID, c.name); return err },
			"Lines":  func() error { _, err := b.threads.Lines(t.Context(), c.ws.ID, c.name, -1, 10); return err },
			"Show":   func() error { _, err := b.threads.Show(t.Context(), c.ws, c.name); return err },
			"Cancel": func() error { _, err := b.threads.Cancel(t.Context(), c.ws, c.name, "m1"); return err },
			"End":    func() error { _, err := b.threads.End(t.Context(), c.ws, c.name); return err },
		} {
			wants(t, method+" "+what, ask(), fault.NotFound)
		}
	}
}
