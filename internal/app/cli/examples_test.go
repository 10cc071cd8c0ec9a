package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// wants skips the test aloud when a program is missing.
func wants(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands were NOT run: %s is missing", program)
		}
	}
}

// typed runs commands with bash next to a gateway and returns their output. The folder has
// the files of the repository that they need: bin/cairn, docs, go.mod.
func (w *world) typed(t *testing.T, lines string) string {
	t.Helper()
	cairn := filepath.Join(w.folder, "bin", "cairn")
	testkit.Must(t, os.MkdirAll(filepath.Dir(cairn), 0o755))
	testkit.Must(t, os.Symlink(devtest.Program(t, "starter"), cairn))
	environ := append(slices.Clone(w.environ), "PATH="+os.Getenv("PATH"), "CURL_HOME="+w.folder)
	w.environ = append(w.environ, "CAIRN_LISTEN=127.0.0.1:0")
	printed := ""
	w.untilReady(t, []string{"serve"}, func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		w.write(".curlrc", "silent\nshow-error\nconnect-to = \"127.0.0.1:8080:"+address+"\"\n")
		c := exec.CommandContext(t.Context(), "bash", "-eu", "-c", lines)
		c.Dir, c.Env = w.folder, append(environ, "CAIRN_URL=http://"+address)
		c.Stderr = t.Output()
		out, err := c.Output()
		if printed = string(out); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return printed
}

// module makes the folder a module with some folders of this one.
func (w *world) module(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		testkit.Must(t, os.CopyFS(filepath.Join(w.folder, folder), os.DirFS("../../../"+folder)))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile("../../../" + name)
		testkit.Must(t, err)
		w.write(name, string(raw))
	}
	known, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
	testkit.Must(t, err)
	// HOME is an empty folder, so Go needs its caches from here
	for i, value := range strings.Split(strings.TrimSpace(string(known)), "\n") {
		w.environ = append(w.environ, []string{"GOCACHE", "GOMODCACHE", "GOPROXY"}[i]+"="+value)
	}
}

const tenLines = `
export CAIRN_KEY=$(bin/cairn keys create --name gateway --scopes write)
go run ./docs/examples/gateway -conversation trip <<'END'
Hello, I am Ada.
I always sit in an aisle seat.
Where do I sit?
I never fly before nine in the morning.
When do I fly?
I prefer trains for short trips.
My passport ends in October.
Which seat do I take?
I travel with one small bag.
Thank you, that is all.
END
`

func TestTheExampleOfAGatewayWorks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	wants(t, "bash")
	w := open(t)
	w.module(t, "docs/examples")
	printed := w.typed(t, tenLines)
	for _, want := range []string{"you:   Hello, I am Ada.\ncairn: ", "nudge after turn 10: ",
		"memory (core, by agent): I always sit in an aisle seat."} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	if n := strings.Count(printed, "you:   "); n != 10 {
		t.Errorf("%d messages were sent", n)
	}
	w.reviewed(t, "trip", 10)
}

// reviewed checks that the tenth turn of a conversation was followed by a review.
func (w *world) reviewed(t *testing.T, conversation string, turns int) {
	t.Helper()
	detail, err := w.Conversations.Show(t.Context(), w.Workspace, conversation)
	testkit.Must(t, err)
	if detail.Turns != turns || len(detail.Nudges) != 1 || detail.Nudges[0].Turn != 10 ||
		detail.Nudges[0].EndedAt == nil || detail.Counters.Total != turns {
		t.Errorf("conversation %+v", detail)
	}
}
