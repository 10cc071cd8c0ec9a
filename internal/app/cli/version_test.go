package cli

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"cairn/internal/app/buildinfo"
	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// The built programs print their version. A build without version control data has no commit.
func TestProgramsPrintTheirVersion(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	output := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), devtest.Program(t, name), args...).Output()
		testkit.Must(t, err)
		return string(out)
	}
	var i buildinfo.Info
	testkit.Must(t, json.Unmarshal([]byte(output("starter", "version", "--output", "json")), &i))
	if i.Version != "dev" || i.Go != runtime.Version() || i.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("version %+v", i)
	}
	for program, out := range map[string]string{"cairn": output("starter", "--version"),
		"worker": output("worker", "--version")} {
		if !strings.HasPrefix(out, program+" dev (commit ") || !strings.Contains(out, i.Go+", "+i.Platform+")\n") {
			t.Errorf("%s --version: %q", program, out)
		}
	}
}

func TestVersionShowsTheCommit(t *testing.T) {
	t.Parallel()
	i := buildinfo.Info{Version: "1.2.3", Commit: "0123456789abcdef", CommitTime: "2026-03-01T10:00:00Z",
		Modified: true, Go: "go1.26.0", Platform: "linux/amd64"}
	for output, want := range map[string]string{
		"table": "cairn        1.2.3\ncommit       0123456789abcdef (modified)\ncommit time  2026-03-01T10:00:00Z\n" +
			"Go           go1.26.0\nplatform     linux/amd64\n",
		"text": "cairn 1.2.3 (commit 0123456789ab, modified, 2026-03-01T10:00:00Z, go1.26.0, linux/amd64)\n",
	} {
		var out bytes.Buffer
		testkit.Must(t, (&cli{out: &out, output: output}).printVersion(i))
		if out.String() != want {
			t.Errorf("%s: %q", output, out.String())
		}
	}
}
