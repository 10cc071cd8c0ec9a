package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill/executor"
)

const twoTurns = `[{"sample_id": "s", "conversation": {"session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": ` +
	`"I bought a red kite in Porto."}, {"speaker": "Ben", "dia_id": "D1:2",
 "text": "So it goes, one thing and then another, and all of it as it was before, if you see what I mean by that, ` +
	`and so on and on and on it went."}]},
 "qa": [{"question": "What did Ann buy?", "answer": "kite", "evidence": ["D1:1"], "category": 4}]}]`

// The measurement needs no server and rejects invalid flags.
func TestEvalLocomoMeasuresBaselinesByName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "talks.json")
	if err := os.WriteFile(file, []byte(twoTurns), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"eval", "locomo", "--data", file}, args...),
			[]string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""),
			&out, &errs)
		return code, out.String(), errs.String()
	}
	code, out, errs := run("--baseline", "static", "--baseline", "none", "--limit", "1")
	if code != 0 || !strings.Contains(out, "static primitives") || !strings.Contains(out, "no skills") ||
		strings.Contains(out, "learned") || !strings.Contains(errs, "offline rules") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, c := range []struct{ flag, value, want string }{{"--baseline", "best", "context-free"},
		{"--judge", "m", "needs a model"}, {"--baseline", "learned", "at least three"},
		{"--limit", "-1", "0 or more"},
		{"--spans", "sentence", "turn-pair"}, {"--span-tokens", "0", "1 to"}, {"--fuse", "median", "sim_weighted"},
		{"--session-workers", "0", "1 to"}} {
		if code, _, errs := run(c.flag, c.value); code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: exit %d, %s", c.flag, c.value, code, errs)
		}
	}
}

// All span modes, parallel spans and sim_weighted can be measured.
func TestEvalSupportsAllSpanModes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "talks.json")
	if err := os.WriteFile(file, []byte(twoTurns), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mode := range executor.Modes {
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{"eval", "locomo", "--data", file, "--baseline", "static", "--spans", mode,
			"--session-workers", "2", "--fuse", "sim_weighted", "-o", "json"},
			[]string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""),
			&out, &errs)
		if code != 0 || !strings.Contains(out.String(), "static primitives") {
			t.Errorf("%s: exit %d: %s%s", mode, code, out.String(), errs.String())
		}
	}
}

const histories = `[{"question_id":"q1","question":"How many rabbits does Ines keep?","answer":"two ` +
	`rabbits","question_date":"2023/05/30 (Tue) 23:40","haystack_dates":["2023/05/20 (Sat) 02:21"],
"haystack_sessions":[[{"role":"user","content":"Hello"},{"role":"user","content":"I keep two rabbits in the garden ` +
	`of my house.","has_answer":true}]]},
{"question_id":"q2_abs","question":"What is her cat called?","answer":"Not ` +
	`known","haystack_sessions":[[{"role":"user","content":"Hi"}]]}]`

const paragraphs = `[{"_id":"a","question":"Where was the founder of Loom ` +
	`born?","answers":["Porto","Oporto"],"supporting_facts":[["Ines Sol",0]],
"context":[["Weaving",["Weaving is an old craft of many lands and peoples."]],["Ines Sol",["Ines Sol, founder of ` +
	`Loom, was born in Porto."]]]}]`

const trajectories = `[{"id":"g1","task_type":"place","task":"put a mug on the desk","observation":"You are in a ` +
	`room.","steps":[{"action":"take mug","observation":"You hold a mug."},{"action":"put mug on ` +
	`desk","observation":"Done."}],"success":true},
{"id":"g2","task_type":"place","task":"put a pen on the desk","observation":"You are in a ` +
	`room.","steps":[{"action":"take pen","observation":"You hold a pen."}],"success":false},
{"id":"g3","task_type":"place","task":"put a cup on the desk","observation":"You are in a ` +
	`room.","steps":[{"action":"put cup on desk","observation":"Done."}],"success":true}]`

// Each data set is measured by the same rows; tasks by how many of them can be
// played again.
func TestEvalMeasuresEachDataSet(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, c := range map[string]struct{ file, out, errs string }{
		"longmemeval": {histories, "LongMemEval, 1 folds", "1 are left out"},
		"hotpotqa":    {paragraphs, "HotpotQA, 1 folds", "offline rules"},
		"alfworld":    {trajectories, "SUCCESS", "success rate 0.667, 1.3 steps"},
	} {
		file := filepath.Join(folder, name+".json")
		if err := os.WriteFile(file, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) (int, string, string) {
			var out, errs bytes.Buffer
			code := execute(t.Context(), append([]string{"eval", name, "--baseline", "static", "--baseline", "none"},
				args...), []string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull},
				strings.NewReader(""), &out, &errs)
			return code, out.String(), errs.String()
		}
		if code, out, errs := run("--data", file); code != 0 || !strings.Contains(out, c.out) ||
			!strings.Contains(out, "static primitives") || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errs)
		}
		if code, _, errs := run(); code == 0 || !strings.Contains(errs, "--data") {
			t.Errorf("%s without a file: exit %d, %s", name, code, errs)
		}
		if code, _, errs := run("--data", file, "--baseline", "learned"); code == 0 ||
			!strings.Contains(errs, "at least three") {
			t.Errorf("%s learns from nothing: exit %d, %s", name, code, errs)
		}
	}
}
