package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/evaluation"
	"cairn/internal/testkit"
)

func TestEvalMemskillRefusesBadFlags(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broken := filepath.Join(folder, "broken.json")
	testkit.Must(t, os.WriteFile(broken, []byte("{"), 0o644))
	misspelt := filepath.Join(folder, "misspelt.json")
	testkit.Must(t, os.WriteFile(misspelt, []byte(`{"tran": []}`), 0o644))
	for _, c := range []struct{ flags, want string }{
		{"--data sample --estimate --split 1/2", "6/2/2"},
		{"--data " + broken, "cannot read the data"},
		{"--data absent.json", "cannot open the data"},
		{"--dataset hotpotqa", "--data"},
		{"--data sample --split 1/1/0", "6/2/2"},
		{"--data sample --split absent", "cannot read the split"},
		{"--data sample --split " + broken, "cannot read the split"},
		{"--data sample --parallel 0", "--parallel"},
		{"--data sample --max-cost -1", "--max-cost"},
		{"--data sample --max-cost 0", "no limit"},
		{"--data sample --max-cost NaN", "no limit"},
		{"--data sample --parallel many", "--parallel"},
		{"--data sample --record " + folder, "--record"},
		{"--data sample --split " + misspelt, "\"tran\""},
		{"--data sample --skills 0", "--skills"},
		{"--data sample --stages -1", "--stages"},
		{"--data sample --limit -1", "0 for all"},
		{"--data sample --dataset squad", "locomo, longmemeval"},
		{"--data sample --dataset hotpotqa", "leave out --dataset"},
		{"--data sample --html absent/report.html", "existing folder"},
		{"--data sample --record a --replay b", "exclude each other"},
		{"--data sample --replay " + broken, "not a recording"},
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"eval", "memskill"}, strings.Fields(c.flags)...),
			[]string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""),
			&out, &errs)
		if code == 0 || !strings.Contains(errs.String(), c.want) || !strings.Contains(errs.String(), "hint: ") ||
			strings.Contains(errs.String(), "[internal]") {
			t.Errorf("%s: exit %d, %s", c.flags, code, errs.String())
		}
	}
}

// The sample needs neither a model nor a file. The same command prints the stored result again.
func TestEvalMemskillMeasuresTheSample(t *testing.T) {
	t.Parallel()
	w := open(t)
	args := []string{"eval", "memskill", "--data", "sample", "--row", "none", "--row", "static", "--limit", "2"}
	code, out, errs := w.run("", append(args, "--estimate")...)
	if code != 0 || !strings.Contains(out, "15 calls (0 for training)") || !strings.Contains(errs, "offline rules") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs = w.run("", append(args, "--html", "report.html", "-o", "json")...)
	var got evaluation.Result
	if code != 0 || json.Unmarshal([]byte(out), &got) != nil || got.Outcome != run.Completed || len(got.Rows) != 2 ||
		got.Rows[1].Memories == 0 || got.Rows[1].Versus != nil || got.Rows[0].Versus == nil {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "evaluation started: run run_") ||
		!strings.Contains(errs, "5 to train, 1 to validate") {
		t.Errorf("progress: %s", errs)
	}
	page, err := os.ReadFile(filepath.Join(w.folder, "report.html"))
	if err != nil || !strings.Contains(string(page), "offline rules") || !strings.Contains(string(page), "single-hop") {
		t.Errorf("%v: %s", err, page)
	}
	code, out, errs = w.run("", args...)
	if code != 0 || !strings.Contains(errs, "continued") || !strings.Contains(out, "offline rules") ||
		!strings.Contains(out, "static") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	split := filepath.Join(w.folder, "split.json")
	testkit.Must(t, os.WriteFile(split, []byte(`{"test": ["elsewhere"]}`), 0o644))
	for _, c := range []struct{ flags, want string }{
		{"--row best", "evolved+learned"}, {"--row static --row static", "repeated"},
		{"--max-cost 1", "price"}, {"--row evolved --split 0/0/1", "learn from"},
		{"--row bank@1", "NAME@VERSION"}, {"--stages 10001", "1 to 10,000"},
		{"--score grades", "recall or answer"}, {"--split " + split, "of the split"},
		{"--record replies.jsonl", "CAIRN_RECORD"},
	} {
		args := append([]string{"eval", "memskill", "--data", "sample"}, strings.Fields(c.flags)...)
		code, _, errs := w.run("", args...)
		if code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %s", c.flags, code, errs)
		}
	}
}

func TestTheLineOfAnEvaluationHasAnETA(t *testing.T) {
	t.Parallel()
	p := evaluation.Progress{Units: 3, UnitsOf: 7, Usage: learning.EvaluationUsage{Calls: 30, CostMicros: 1_500_000},
		Estimate: evaluation.Estimate{Calls: 120}}
	line := evaluationLine(p, 10, 20*time.Second)
	for _, want := range []string{"30 of about 120 calls", "3 of 7 units", "cost 1.5 $", "ETA 1m30s"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q lacks %q", line, want)
		}
	}
	if line := evaluationLine(p, 30, time.Second); strings.Contains(line, "ETA") {
		t.Errorf("an ETA without a call: %q", line)
	}
}
