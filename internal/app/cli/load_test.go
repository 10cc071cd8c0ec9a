package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// loadedRows counts the memories and the indexed memories of a workspace.
func (w *world) loadedRows(workspace string) (memories, indexed, embedded int) {
	w.T.Helper()
	testkit.Must(w.T, w.Admin().QueryRow(w.T.Context(), `select
		(select count(*) from cairn.memories m where m.workspace_id = w.id),
		(select count(*) from cairn.lex_docs l where l.workspace_id = w.id),
		(select count(*) from cairn.embeddings e where e.workspace_id = w.id)
		from cairn.workspaces w where external_id = $1`, workspace).Scan(&memories, &indexed, &embedded))
	return memories, indexed, embedded
}

func TestMemoriesLoadReadsRowsAndDumps(t *testing.T) {
	t.Parallel()
	w := idle(t)
	var rows strings.Builder
	for i := range 1001 { // three transactions
		fmt.Fprintf(&rows, `{"memory_type":"personal","memory_target":"Person %d","content":"Owns crate %d.",`+
			`"event_time":"2024-03-01T09:00:00Z"}`+"\n", i%9, i)
	}
	w.write("rows.ndjson", rows.String())
	run := func(want string, args ...string) {
		t.Helper()
		code, out, errs := w.run("", args...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errs)
		}
	}
	run("imported 1001 memories, 9 targets, 0 sessions and 0 messages; ", "memories", "load", "rows.ndjson")
	run("imported 0 memories, 0 targets, 0 sessions and 0 messages; ", "memories", "load", "rows.ndjson")
	dumped := filepath.Join(w.folder, "dump.ndjson")
	run("", "memories", "dump", dumped)
	run("imported 1001 memories, 9 targets, 0 sessions and 0 messages; 0 already existed", "memories", "load", dumped,
		"--workspace", "copy")
	for _, ws := range []string{"test", "copy"} {
		if memories, indexed, embedded := w.loadedRows(ws); memories != 1001 || indexed != 1001 || embedded != 1001 {
			t.Errorf("%s: %d memories, %d indexed, %d with a vector", ws, memories, indexed, embedded)
		}
	}
	code, out, errs := w.run("", "search", "--kinds", "memory", "--workspace", "copy", "-o", "json", "crate 1000")
	var found struct{ Results []struct{ Text string } }
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 || len(found.Results) == 0 ||
		found.Results[0].Text != "Owns crate 1000." {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
}

func TestMemoriesLoadNamesABadLineAndLoadsNothing(t *testing.T) {
	t.Parallel()
	w := idle(t)
	good := `{"memory_type":"personal","memory_target":"Ann","content":"Keeps bees."}` + "\n"
	for what, line := range map[string]string{
		"wrong type of a value": `{"memory_type":"personal","memory_target":"Ann","content":"x","importance":"much"}`,
		"huge number":           `{"memory_type":"personal","memory_target":"Ann","content":"x","importance":1e300}`,
		"infinite number":       `{"memory_type":"personal","memory_target":"Ann","content":"x","score":1e999}`,
		"NaN as text":           `{"memory_type":"personal","memory_target":"Ann","content":"x","score":"NaN"}`,
		"no memory":             `{"hello":"world"}`,
		"no JSON":               `Keeps bees.`,
	} {
		code, out, errs := w.run(strings.Repeat(good, 600)+line, "memories", "load", "-")
		if code == 0 || !strings.Contains(errs, "line 601:") || !strings.Contains(errs, "hint:") {
			t.Errorf("%s: exit %d, %s%s", what, code, out, errs)
		}
	}
	if memories, _, _ := w.loadedRows("test"); memories != 0 {
		t.Errorf("%d memories were loaded", memories)
	}
}
