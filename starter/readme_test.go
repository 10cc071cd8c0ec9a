package main

import (
	"archive/zip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/gateway"
	"cairn/internal/host/hosttest"
	"cairn/internal/run"
	"cairn/internal/store"
)

// readme returns the fenced blocks under a heading of README.md.
func readme(t *testing.T, heading string) (blocks []string) {
	t.Helper()
	raw, err := os.ReadFile("../README.md")
	hosttest.Must(t, err)
	_, section, there := strings.Cut(string(raw), "\n## "+heading+"\n")
	if !there {
		t.Fatalf("README.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for i, part := range strings.Split(section, "```\n") {
		if i%2 == 1 {
			blocks = append(blocks, part)
		}
	}
	return blocks
}

// What README.md tells to type is typed, to the letter. Only where the gateway
// listens differs: curl is told to connect to a free port in place of 8080.
func TestWhatTheReadmeSaysOfHTTPWorks(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the lines of README.md were NOT run: there is no %s here", program)
		}
	}
	blocks := readme(t, "Over HTTP")
	if len(blocks) != 2 {
		t.Fatalf("the section has %d blocks, not the gateway's and its client's", len(blocks))
	}
	serve, _, _ := strings.Cut(blocks[0], "#")
	if strings.TrimSpace(serve) != "bin/cairn serve" || strings.Count(blocks[1], "curl ") < 4 {
		t.Fatalf("the section tells to run %q, then %q", serve, blocks[1])
	}
	w := open(t)
	cairn := filepath.Join(w.folder, "bin", "cairn")
	if out, err := exec.Command("go", "build", "-o", cairn, ".").CombinedOutput(); err != nil {
		t.Fatalf("build cairn: %v\n%s", err, out)
	}
	environ := append(slices.Clone(w.environ), "PATH="+os.Getenv("PATH"), "CURL_HOME="+w.folder)
	w.environ = append(w.environ, "CAIRN_LISTEN=127.0.0.1:0")
	printed := ""
	w.untilReady(t, strings.Fields(serve)[1:], func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		w.write(".curlrc", "silent\nshow-error\nfail-with-body\nconnect-to = \"127.0.0.1:8080:"+address+"\"\n")
		c := exec.CommandContext(t.Context(), "bash", "-eu", "-c", blocks[1])
		c.Dir, c.Env = w.folder, environ
		out, err := c.CombinedOutput()
		if printed = string(out); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	if t.Failed() {
		return
	}
	for _, want := range []string{`"outcome":"completed"`, "event: end", `"name":"update-reservation-flights"`} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %s in\n%s", want, printed)
		}
	}
	w.Within(func(ctx context.Context, q store.Queries) error {
		runs, err := q.Runs(ctx, 10)
		if err != nil {
			return err
		}
		if len(runs) != 1 || runs[0].Outcome != run.Completed {
			t.Errorf("runs %+v", runs)
		}
		keys, err := q.Keys(ctx)
		if len(keys) != 1 || keys[0].Name != "laptop" || !slices.Equal(keys[0].Scopes, []string{string(gateway.Write)}) {
			t.Errorf("keys %+v", keys)
		}
		return err
	})
	archive, err := zip.OpenReader(filepath.Join(w.folder, "skill.zip"))
	hosttest.Must(t, err)
	defer archive.Close()
	if !slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == "update-reservation-flights/SKILL.md" }) {
		t.Error("the package has no SKILL.md")
	}
}
