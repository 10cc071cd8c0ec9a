package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/service/evaluation/retrieval"
	"cairn/internal/testkit"
)

// A run is compared with another one, and fails if it is worse than allowed.
func TestEvalRetrievalComparesWithABaseline(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	folder := t.TempDir()
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"eval", "retrieval"}, args...),
			[]string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""),
			&out, &errs)
		return code, out.String(), errs.String()
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

func TestEvalRetrievalRefusesBadFlags(t *testing.T) {
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
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"eval", "retrieval"}, strings.Fields(c.flags)...),
			[]string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""),
			&out, &errs)
		if code == 0 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %s", c.flags, code, errs.String())
		}
	}
}
