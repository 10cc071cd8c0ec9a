package cli

import (
	"archive/zip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/apikey"
	"cairn/internal/testkit"
)

// readme returns the fenced blocks under a heading of README.md.
func readme(t *testing.T, heading string) (blocks []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../README.md")
	testkit.Must(t, err)
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

// wants skips the test aloud when a program is missing.
func wants(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the lines of README.md were NOT run: there is no %s here", program)
		}
	}
}

// typed runs lines of README.md with bash next to a gateway and returns their output. The folder has
// the files of the repository that they need: bin/cairn, docs, go.mod.
func (w *world) typed(t *testing.T, lines string) string {
	t.Helper()
	cairn := filepath.Join(w.folder, "bin", "cairn")
	testkit.Must(t, os.MkdirAll(filepath.Dir(cairn), 0o755))
	testkit.Must(t, os.Symlink(devtest.Program(t, "cairn/starter"), cairn))
	environ := append(slices.Clone(w.environ), "PATH="+os.Getenv("PATH"), "CURL_HOME="+w.folder)
	w.environ = append(w.environ, "CAIRN_LISTEN=127.0.0.1:0")
	printed := ""
	w.untilReady(t, []string{"serve"}, func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		w.write(".curlrc", "silent\nshow-error\nfail-with-body\nconnect-to = \"127.0.0.1:8080:"+address+"\"\n")
		c := exec.CommandContext(t.Context(), "bash", "-eu", "-c", lines)
		c.Dir, c.Env = w.folder, append(environ, "CAIRN_URL=http://"+address)
		out, err := c.CombinedOutput()
		if printed = string(out); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return printed
}

// The commands of README.md run unchanged, except that curl connects to a free port instead of 8080.
func TestWhatTheReadmeSaysOfHTTPWorks(t *testing.T) {
	t.Parallel()
	wants(t, "bash", "curl")
	blocks := readme(t, "Over HTTP")
	if len(blocks) != 2 {
		t.Fatalf("the section has %d blocks, not the gateway's and its client's", len(blocks))
	}
	serve, _, _ := strings.Cut(blocks[0], "#")
	if strings.TrimSpace(serve) != "bin/cairn serve" || strings.Count(blocks[1], "curl ") < 4 {
		t.Fatalf("the section runs %q, then %q", serve, blocks[1])
	}
	w := open(t)
	printed := w.typed(t, blocks[1])
	for _, want := range []string{`"outcome":"completed"`, "event: end", `"name":"update-reservation-flights"`} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %s in\n%s", want, printed)
		}
	}
	w.Within(func(ctx context.Context, q postgres.Tx) error {
		runs, err := q.Runs().Runs(ctx, 10)
		if err != nil {
			return err
		}
		if len(runs) != 1 || runs[0].Outcome != run.Completed {
			t.Errorf("runs %+v", runs)
		}
		keys, err := q.Keys().Keys(ctx)
		if len(keys) != 1 || keys[0].Name != "laptop" || !slices.Equal(keys[0].Scopes, []string{string(apikey.Write)}) {
			t.Errorf("keys %+v", keys)
		}
		return err
	})
	archive, err := zip.OpenReader(filepath.Join(w.folder, "skill.zip"))
	testkit.Must(t, err)
	defer archive.Close()
	if !slices.ContainsFunc(archive.File, func(f *zip.File) bool {
		return f.Name == "update-reservation-flights/SKILL.md"
	}) {
		t.Error("the package has no SKILL.md")
	}
}

func TestWhatTheReadmeSaysOfAConversationWorks(t *testing.T) {
	t.Parallel()
	wants(t, "bash", "curl")
	blocks := readme(t, "A conversation over HTTP")
	if len(blocks) != 1 || strings.Count(blocks[0], "\nsay ")+strings.Count(blocks[0], "\nheard ") != 11 {
		t.Fatalf("the section has %d blocks", len(blocks))
	}
	w := open(t)
	printed := w.typed(t, blocks[0])
	for _, want := range []string{`"reason":"final"`, `"reason":"observed"`, `"status":"saved"`, `"tool":"memory_save"`,
		`"content":"I am allergic to walnuts."`, `"reply":"I am allergic to walnuts.`, `"next_cursor":"3"`} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %s in\n%s", want, printed)
		}
	}
	w.reviewed(t, "kitchen", 11)
	w.Within(func(ctx context.Context, q postgres.Tx) error {
		all, err := q.PromptMemory().Memories(ctx, memory.PromptTypes, false, 100)
		if len(all) != 1 || all[0].Origin != string(agent.OriginNudge) {
			t.Errorf("remembered %+v", all)
		}
		return err
	})
}

func TestWhatTheReadmeSaysOfLongTermMemoryWorks(t *testing.T) {
	t.Parallel()
	wants(t, "bash", "curl")
	blocks := readme(t, "Long-term memory over HTTP")
	if len(blocks) != 1 || strings.Count(blocks[0], "\napi ")+strings.Count(blocks[0], "\ncurl ") != 9 {
		t.Fatalf("the section has %d blocks", len(blocks))
	}
	w := open(t)
	printed := w.typed(t, blocks[0])
	for _, want := range []string{`"kind":"summarize"`, `"state":"ended"`, `"content":"Ada keeps bees."`,
		`"memory_target":"Ada"`, `"histories":0`, `"event":"ADD"`, `"memory":"Drinks green tea."`} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %s in\n%s", want, printed)
		}
	}
}

func TestTheHookOfTheReadmeWorks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	wants(t, "bash")
	blocks := readme(t, "An agent with memory, in Go")
	if len(blocks) != 1 || strings.Count(blocks[0], "go run ./docs/examples/hook") != 2 {
		t.Fatalf("the section runs %q", blocks)
	}
	w := open(t)
	w.module(t, "docs/examples", "starter/client")
	printed := w.typed(t, blocks[0])
	for _, want := range []string{"agent: I remember: - (personal ada) Ada keeps bees on the roof.",
		"you:   Thank you.\nagent: ", "agent: I saved that: The third hive is empty.",
		"agent: I looked it up: The third hive is empty."} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	w.Within(func(ctx context.Context, q postgres.Tx) error {
		c, err := q.Dump().Counts(ctx)
		if c.Messages != 4 { // of the first session: the other one's agent has the tools alone
			t.Errorf("%d messages were recorded", c.Messages)
		}
		return err
	})
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

func TestTheGatewayOfTheReadmeWorks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	wants(t, "bash")
	blocks := readme(t, "A gateway in Go")
	if len(blocks) != 1 || !strings.Contains(blocks[0], "go run ./docs/examples/gateway") {
		t.Fatalf("the section runs %q", blocks)
	}
	w := open(t)
	w.module(t, "docs/examples")
	printed := w.typed(t, blocks[0])
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
