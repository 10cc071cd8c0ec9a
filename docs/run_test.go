package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// A reader follows a document from top to bottom, in an empty folder that has
// bin/cairn. What is printed is what the document shows.
func TestTheBlocksOfTheDocumentationRun(t *testing.T) {
	for _, path := range []string{"README.md", "docs/tutorials/first-skill.md", "docs/tutorials/chat-with-memory.md",
		"docs/tutorials/agent-in-go.md"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if path != "README.md" {
				testkit.Long(t)
			}
			t.Parallel()
			runDocument(t, path)
		})
	}
}

// block is a fenced block with its info string.
type block struct{ info, text string }

func runDocument(t *testing.T, path string) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s was not run: there is no %s", path, program)
		}
	}
	raw, err := os.ReadFile(filepath.Join("..", path))
	testkit.Must(t, err)
	var blocks []block
	for _, m := range fence.FindAllStringSubmatch(string(raw), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	folder, environ := reader(t, strings.Contains(string(raw), "go run"))
	printed, errs := runBlocks(t, folder, environ, blocks)
	compared := 0
	for i, b := range blocks {
		if !slices.Contains([]string{"sh", "sh no-run", "output", "text"}, b.info) {
			t.Errorf("block %d is marked %q; use sh, sh no-run, output or text", i+1, b.info)
		}
		if b.info != "output" {
			continue
		}
		compared++
		if i == 0 || blocks[i-1].info != "sh" {
			t.Errorf("block %d shows output, and block %d before it does not run", i+1, i)
			continue
		}
		if got := strings.TrimSpace(printed[i-1]); !expected(b.text).MatchString(got) {
			t.Errorf("block %d:\n%s\nprints\n%s\nand not\n%s\nerrors: %s", i, blocks[i-1].text, got, b.text, errs)
		}
	}
	if compared == 0 {
		t.Errorf("%s shows no output", path)
	}
}

// expected turns an output block into a pattern: … stands for any text.
func expected(text string) *regexp.Regexp {
	parts := strings.Split(strings.TrimSpace(text), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, `.*?`) + `$`)
}

// reader makes a folder as a reader has it, with workers that serve it.
func reader(t *testing.T, module bool) (folder string, environ []string) {
	t.Helper()
	folder = t.TempDir()
	b := apptest.OpenIdle(t, func(c *config.Config) {
		c.BaseURL, c.APIKey, c.Model, c.NameStyle = "", "", "", "hyphen"
	})
	b.Start()
	testkit.Must(t, os.MkdirAll(filepath.Join(folder, "bin"), 0o755))
	testkit.Must(t, os.Symlink(devtest.Program(t, "starter"), filepath.Join(folder, "bin", "cairn")))
	c := b.Config
	environ = []string{
		"HOME=" + folder,
		"PATH=" + os.Getenv("PATH"),
		"CURL_HOME=" + folder,
		"DATABASE_URL=" + c.DatabaseURL,
		"TEMPORAL_ADDRESS=" + c.TemporalAddress,
		"TEMPORAL_NAMESPACE=" + c.TemporalNamespace,
		"TEMPORAL_UI_URL=http://127.0.0.1:8233",
		"CAIRN_HOME=" + filepath.Join(folder, ".cairn"),
		"SKILLS_LOCAL_DIR=" + c.SkillsDir,
		"CAIRN_CONFIG=" + os.DevNull,
		"CAIRN_LISTEN=127.0.0.1:0",
		"CAIRN_WORKSPACE=test",
	}
	if module {
		for _, part := range []string{"docs/examples", "starter/client"} {
			testkit.Must(t, os.CopyFS(filepath.Join(folder, part), os.DirFS(filepath.Join("..", part))))
		}
		for _, name := range []string{"go.mod", "go.sum"} {
			raw, err := os.ReadFile(filepath.Join("..", name))
			testkit.Must(t, err)
			testkit.Must(t, os.WriteFile(filepath.Join(folder, name), raw, 0o600))
		}
		known, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB").Output()
		testkit.Must(t, err)
		for i, value := range strings.Split(strings.TrimSpace(string(known)), "\n") {
			environ = append(environ, []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB"}[i]+"="+value)
		}
	}
	return folder, environ
}

const marker = "\x1e" // separates the output of blocks

// runBlocks runs the sh blocks in one shell, so that variables and functions of one
// are known in the next, and returns what each prints.
func runBlocks(t *testing.T, folder string, environ []string, blocks []block) (printed []string, errs string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for i, b := range blocks {
		fmt.Fprintf(&script, "printf '%s'\n", marker)
		switch {
		case b.info != "sh":
		case strings.TrimSpace(b.text) == "bin/cairn serve":
			script.WriteString(serve)
		default:
			fmt.Fprintf(&script, "# block %d\n%s", i+1, b.text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-eu", "-c", script.String())
	c.Dir, c.Env = folder, environ
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the gateway is stopped, too
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "serve.log"))
		t.Fatalf("%v\n%s\n%s\n%s", err, out.String(), problems.String(), log)
	}
	return strings.Split(out.String(), marker)[1:], problems.String()
}

// serve starts the gateway on a free port, to which curl and the client then connect.
const serve = `bin/cairn serve > serve.log 2>&1 &
until grep -q '^ready: ' serve.log; do kill -0 $!; sleep 0.1; done
CAIRN_URL=$(sed -n 's#^ready: \(http://[0-9.]*:[0-9]*\).*#\1#p' serve.log)
export CAIRN_URL
printf 'connect-to = "127.0.0.1:8080:%s"\n' "${CAIRN_URL#http://}" > .curlrc
`
