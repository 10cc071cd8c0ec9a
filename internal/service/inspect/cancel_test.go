package inspect_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

// Each kind of run can be canceled alone and retried, or its refusal says what else to do.
func TestEachKindOfRunSaysWhatItAllows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	backlog, err := b.Store.Backlog(t.Context()) // has all kinds
	testkit.Must(t, err)
	within := map[run.Kind]string{run.Turn: "cairn conversations cancel", run.Flush: "compaction"}
	for kind := range backlog.Runs {
		err := inspect.Cancelable(run.Run{Kind: kind, WorkflowID: "some/workflow"})
		hint, refused := within[kind]
		if (err != nil) != refused {
			t.Errorf("cancel %s: %v", kind, err)
		}
		if refused && (fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(fault.From(err).Hint, hint)) {
			t.Errorf("cancel %s: %v, hint %q", kind, err, fault.From(err).Hint)
		}
		ref := run.Ref{Workspace: b.A.ID, Run: run.NewID()}
		b.Exec("insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id) "+
			"values ($1, $2, $3, 'x', sha256('x'), '{}', 'w')", ref.Workspace, ref.Run, kind)
		err = b.runs.Retriable(t.Context(), ref)
		generic := fault.Table[fault.InvalidArgument].Hint
		if kind == run.Distill && err != nil || kind != run.Distill && (fault.CodeOf(err) != fault.InvalidArgument ||
			fault.From(err).Hint == generic) {
			t.Errorf("retry %s: %v, hint %q", kind, err, fault.From(err).Hint)
		}
	}
	shared := run.Run{Kind: run.Summarize, WorkflowID: contract.RememberID("w1", "s")}
	if err := inspect.Cancelable(shared); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a session that one call adds with others: %v", err)
	}
}
