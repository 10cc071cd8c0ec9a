package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/lab/bench/retrieval"
	"cairn/internal/testkit"
)

// A run is compared with another one, and fails if it is worse than allowed.
func TestRetrievalComparesWithABaseline(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	folder := t.TempDir()
	run := func(args ...string) (int, string, string) {
		return run(t, folder, append([]string{"retrieval"}, args...)...)
	}
	needle := []string{"--suite", "needle", "--size", "200", "--vocabulary", "s", "--embedder", "none"}
	code, out, errs := run(append(needle, "-o", "json")...)
	var report retrieval.Report
	if code != 0 || json.Unmarshal([]byte(out), &report) != nil || report.Score != 1 || len(report.Ranks) != 60 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	base := filepath.Join(folder, "run.json")
	for i := range 30 { // a baseline that half of the questions miss
		report.Ranks[i].Score = 0
	}
	raw, err := json.Marshal(report)
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(base, raw, 0o644))
	code, out, errs = run(append(needle, "--baseline", base, "--min-delta", "0.4")...)
	if code != 0 || !strings.Contains(out, "+0.5000") || !strings.Contains(out, "30 better, 0 worse") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs = run(append(needle, "--baseline", base, "--min-delta", "0.6")...)
	if code != 1 || !strings.Contains(out, "RANK 1") || !strings.Contains(errs, "less than +0.6000") {
		t.Errorf("below --min-delta: exit %d: %s%s", code, out, errs)
	}
}

func TestRetrievalRefusesBadFlags(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broken := filepath.Join(folder, "broken.json")
	testkit.Must(t, os.WriteFile(broken, []byte("{"), 0o644))
	for _, c := range []struct{ flags, want string }{
		{"--suite best", "locomo, distractors"},
		{"--suite needle --embedder best", "configured"},
		{"--suite needle --embedder configured", "CAIRN_EMBEDDING_MODEL"},
		{"--suite needle --min-delta 0", "--baseline"},
		{"--suite needle --plot x.svg", "--suite growth"},
		{"--suite needle --data x.json", "--data"},
		{"--suite needle --size 5", "100 to"},
		{"--suite needle --vocabulary q", "s or z"},
		{"--suite longmemeval", "--data"},
		{"--suite needle --baseline " + broken, "-o json"},
		{"--suite needle --baseline " + filepath.Join(folder, "absent.json"), "-o json"},
	} {
		code, _, errs := run(t, folder, append([]string{"retrieval"}, strings.Fields(c.flags)...)...)
		if code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %s", c.flags, code, errs)
		}
	}
}

func TestRetrievalIsMeasuredInATableAndInJSON(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	folder := files(t)
	run := func(args ...string) (int, string, string) {
		return run(t, folder, append([]string{"retrieval"}, args...)...)
	}
	code, out, errs := run("--data", "locomo10.json", "-o", "json")
	type recall struct {
		At10      *float64 `json:"recall_at_10"`
		Questions int
	}
	var got struct {
		recall
		Categories map[string]recall
		Baseline   struct {
			recall
			Categories map[string]recall
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.At10 == nil || *got.At10 != 1 ||
		got.Questions != 1 || got.Categories["4"].Questions != 1 || got.Baseline.At10 == nil ||
		*got.Baseline.Categories["4"].At10 != 1 {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if code, _, errs := run("--data", "chat.txt"); code != 2 ||
		!strings.Contains(errs, "is not a LoCoMo file") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
