package e2e_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/app/apptest"
	"cairn/internal/domain/fault"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

func openCases(b *apptest.Bundle) []cases.Case {
	b.T.Helper()
	out, err := b.Learning.Cases.List(b.T.Context(), b.Workspace.ID, "", 100)
	testkit.Must(b.T, err)
	return out
}

// A question is one case however it is spelt; the same feedback counts once, a
// good answer takes failures away.
func TestBadAnswersBecomeHardCases(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	say := func(op string, f feedback.Input) feedback.Result {
		t.Helper()
		out, err := b.Feedback.Note(t.Context(), b.Workspace.ID, op, f)
		testkit.Must(t, err)
		return out
	}
	say("1", feedback.Input{Rating: feedback.Bad, Question: "Where does Vera live?", Answer: "In Oslo"})
	say("1", feedback.Input{Rating: feedback.Bad, Question: "Where does Vera live?", Answer: "In Oslo"})
	got := say("2", feedback.Input{Correction: "Bergen", Question: " where does  VERA live?"})
	if got.Case.Failures != 2 || got.Case.Source != cases.FromCorrection ||
		!slices.Equal(got.Case.Gold, []string{"Bergen"}) || len(openCases(b)) != 1 {
		t.Errorf("%+v, %d cases", got.Case, len(openCases(b)))
	}
	say("3", feedback.Input{Rating: feedback.Good, Question: "Where does Vera live?"})
	if open := openCases(b); len(open) != 1 || open[0].Failures != 1 {
		t.Errorf("%+v", open)
	}
	say("4", feedback.Input{Rating: feedback.Good, Question: "Where does Vera live?"})
	if open := openCases(b); len(open) != 0 {
		t.Errorf("%+v", open)
	}
	for _, wrong := range []feedback.Input{{}, {Rating: "fine"}, {Rating: feedback.Bad}, {Rating: feedback.Good},
		{Rating: feedback.Good, Correction: "x", Question: "y"}} {
		if _, err := b.Feedback.Note(t.Context(), b.Workspace.ID, "5",
			wrong); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// What memory has nothing for is a failure of how it is built, where memory
// skills build it.
func TestARetrievalThatFindsNothingBecomesACase(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	ask := func() {
		t.Helper()
		_, err := b.Progressive.Retrieve(t.Context(),
			memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
				Query: "Which boat did Otto buy?", Mode: memoryagent.Fast, Spec: app.TurnSpec(b.Config)})
		testkit.Must(t, err)
	}
	ask()
	if got := openCases(b); len(got) != 0 {
		t.Errorf("agents build this workspace's memories: %+v", got)
	}
	b.Within(func(ctx context.Context, q postgres.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"memory":{"builder":"skills"}}`))
		return err
	})
	ask()
	ask()
	if got := openCases(b); len(got) != 1 || got[0].Failures != 2 || got[0].Source != cases.FromRetrieval ||
		got[0].Question != "Which boat did Otto buy?" {
		t.Errorf("%+v", got)
	}
}
