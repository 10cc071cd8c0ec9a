package apptest

import (
	"os"
	"path/filepath"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"

	"cairn/internal/testkit"
)

// Record writes the history of a workflow to the folder that CAIRN_HISTORIES
// names, if it is set: that is how the histories are made that
// workflows/testdata/histories keeps for each release.
func (b *Bundle) Record(workflowID, name string) {
	b.T.Helper()
	b.RecordExecution(workflowID, "", name)
}

// RecordEnded is Record of a workflow that may end a moment after it has told its
// result to those who wait for that.
func (b *Bundle) RecordEnded(workflowID, name string) {
	b.T.Helper()
	_ = b.Temporal.GetWorkflow(b.T.Context(), workflowID, "").Get(b.T.Context(), nil) // however it ends
	b.Record(workflowID, name)
}

// RecordExecution is Record of one execution of the workflow; without one it is
// the latest.
func (b *Bundle) RecordExecution(workflowID, execution, name string) {
	b.T.Helper()
	folder := os.Getenv("CAIRN_HISTORIES")
	if folder == "" {
		return
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(b.History(workflowID, execution))
	testkit.Must(b.T, err)
	path := filepath.Join(folder, name+".json")
	testkit.Must(b.T, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.Must(b.T, os.WriteFile(path, raw, 0o644))
}

// History is what has happened so far in an execution of a workflow; without one
// it is the latest.
func (b *Bundle) History(workflowID, execution string) *history.History {
	b.T.Helper()
	h := &history.History{}
	events := b.Temporal.GetWorkflowHistory(b.T.Context(), workflowID, execution, false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		testkit.Must(b.T, err)
		h.Events = append(h.Events, e)
	}
	return h
}
