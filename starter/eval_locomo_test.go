package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const twoTurns = `[{"sample_id": "s", "conversation": {"session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a red kite in Porto."}, {"speaker": "Ben", "dia_id": "D1:2",
 "text": "So it goes, one thing and then another, and all of it as it was before, if you see what I mean by that, and so on and on and on it went."}]},
 "qa": [{"question": "What did Ann buy?", "answer": "kite", "evidence": ["D1:1"], "category": 4}]}]`

// The measurement needs no server, and says so when it is asked for what it cannot do.
func TestEvalLocomoMeasuresBaselinesByName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "talks.json")
	if err := os.WriteFile(file, []byte(twoTurns), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"eval", "locomo", "--data", file}, args...), []string{"HOME=" + folder, "CAIRN_HOME=" + folder, "CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	code, out, errs := run("--baseline", "static", "--baseline", "none", "--limit", "1")
	if code != 0 || !strings.Contains(out, "static primitives") || !strings.Contains(out, "no skills") || strings.Contains(out, "learned") || !strings.Contains(errs, "offline rules") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, c := range []struct{ flag, value, want string }{{"--baseline", "best", "context-free"}, {"--judge", "m", "needs a model"}, {"--baseline", "learned", "fewer than three"}, {"--limit", "-1", "0 or more"}} {
		if code, _, errs := run(c.flag, c.value); code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: exit %d, %s", c.flag, c.value, code, errs)
		}
	}
}
