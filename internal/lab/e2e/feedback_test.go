package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/learning"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/memoryagent"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func openCases(b *apptest.Bundle) []learning.Case {
	b.T.Helper()
	out, err := b.Learning.Cases.List(b.T.Context(), b.Workspace.ID, "", 100)
	testkit.Must(b.T, err)
	return out
}

// If memory skills build the memory, a search without a result is a failure of the build.
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
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(`{"memory":{"builder":"skills"}}`))
		return err
	})
	ask()
	ask()
	if got := openCases(b); len(got) != 1 || got[0].Failures != 2 || got[0].Source != bank.FromRetrieval ||
		got[0].Question != "Which boat did Otto buy?" {
		t.Errorf("%+v", got)
	}
}
