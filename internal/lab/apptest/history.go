package apptest

import (
	"os"
	"path/filepath"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"

	"cairn/internal/testkit"
)

// Record writes the history of a workflow to the folder that CAIRN_HISTORIES names, if it is set. The
// files in workflows/testdata/histories are created this way.
func (b *Bundle) Record(workflowID, name string) {
	b.T.Helper()
	b.RecordExecution(workflowID, "", name)
}

// RecordEnded waits for the end of a workflow before it calls Record. A workflow can end shortly after
// it has returned its result to waiting callers.
func (b *Bundle) RecordEnded(workflowID, name string) {
	b.T.Helper()
	_ = b.Temporal.GetWorkflow(b.T.Context(), workflowID, "").Get(b.T.Context(), nil) // the outcome does not matter
	b.Record(workflowID, name)
}

// RecordExecution is like Record for one execution of a workflow. "" means the latest.
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

// History returns the events so far of an execution of a workflow. "" means the latest execution.
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
