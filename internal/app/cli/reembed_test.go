package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/index"
	"cairn/internal/service/vectorspace"
	"cairn/internal/testkit"
)

// outdated makes the workspace use vectors of a model that is not configured.
func (w *world) outdated(t *testing.T) {
	t.Helper()
	old, err := w.Store.Space(t.Context(), "old-model", 8)
	testkit.Must(t, err)
	for _, sql := range []string{"delete from cairn.embeddings where workspace_id = $1",
		fmt.Sprintf("update cairn.workspaces set space_id = %d where id = $1", old)} {
		_, err = w.Admin().Exec(t.Context(), sql, w.Workspace.ID)
		testkit.Must(t, err)
	}
}

// reembedding starts a slow re-embedding, after an earlier one has ended.
func (w *world) reembedding(t *testing.T) {
	t.Helper()
	state := func() string {
		r, err := w.Reembed.Status(t.Context(), w.Workspace.ID)
		testkit.Must(t, err)
		if r.Reembed == nil {
			return ""
		}
		return r.Reembed.State
	}
	testkit.Eventually(t, "an earlier one has ended", func() bool { return state() != index.ReembedRunning })
	w.must(&struct{}{}, "", "memories", "add", "Ada keeps bees.", "--type", "personal", "--target", "ada")
	for i := range 20 {
		w.must(&struct{}{}, "", "memories", "add", fmt.Sprintf("Ada owns hive %d.", i), "--type", "personal",
			"--target", "ada")
	}
	w.outdated(t)
	_, err := w.Reembed.Start(t.Context(), w.Workspace, vectorspace.Options{Rate: 1})
	testkit.Must(t, err)
	testkit.Eventually(t, "the re-embedding runs", func() bool { return state() == index.ReembedRunning })
}

func TestReembedFromTheCommandLine(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := open(t)
	prints := func(wantCode int, want []string, args ...string) {
		t.Helper()
		code, out, errs := w.run("", args...)
		for _, s := range want {
			if !strings.Contains(out+errs, s) {
				t.Errorf("%v: no %q in\n%s%s", args, s, out, errs)
			}
		}
		if code != wantCode {
			t.Errorf("%v: exit %d, want %d: %s%s", args, code, wantCode, out, errs)
		}
	}
	prints(0, []string{"nothing to re-embed"}, "reembed")
	for i := range 3 {
		w.must(&struct{}{}, "", "memories", "add", fmt.Sprintf("Ada owns hive %d.", i), "--type", "personal",
			"--target", "ada")
	}
	prints(3, []string{"no previous embedding space"}, "reembed", "-w", "test", "--rollback")
	prints(0, []string{"nothing to re-embed"}, "reembed", "--rollback")
	prints(3, []string{"no re-embedding is running", "hint: "}, "reembed", "pause")
	prints(2, []string{"invalid rate -1", "hint: "}, "reembed", "--rate", "-1")
	w.outdated(t)
	prints(0, []string{"words only", "cairn reembed", "0 of 3", "old-model"}, "reembed", "status")
	prints(0, []string{"space", "failed", "old-model, 8 dimensions", "run `cairn reembed`"}, "doctor")
	prints(0, []string{`"vector": "unavailable"`}, "search", "hive", "-o", "json")
	code, out, errs := w.run("", "reembed", "--estimate", "--rate", "2", "-o", "json")
	var estimates []struct {
		Workspace          string
		Documents, Seconds int
	}
	if err := json.Unmarshal([]byte(out), &estimates); err != nil || code != 0 || len(estimates) != 1 ||
		estimates[0].Documents != 3 || estimates[0].Seconds != 2 || estimates[0].Workspace != "test" {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	prints(0, []string{"hashing-v1", "active", "3 of 3", "100%", "previous", "completed, 3 of 3 documents"}, "reembed")
	prints(0, []string{"space", "hashing-v1, 384 dimensions", "3 of 3 documents"}, "doctor")
	prints(8, []string{"no embedder serves the previous space", "CAIRN_EMBEDDING_PREVIOUS_MODEL"}, "reembed", "-w",
		"test", "--rollback")
	prints(0, []string{`"state": "completed"`}, "reembed", "status", "-w", "test", "-o", "json")
}
