package devstack

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// holdVariable makes this test program a process that holds a stack until it is killed. Its value
// is the stack's folder, or "-" for a throw-away one.
const holdVariable = "CAIRN_TEST_HOLD"

// doctorVariable makes this test program print what Doctor finds.
const doctorVariable = "CAIRN_TEST_DOCTOR"

// patience is far more than anything here takes; tests poll and do not sleep.
const patience = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		hold(strings.TrimPrefix(dir, "-"))
	}
	if os.Getenv(doctorVariable) != "" {
		for _, f := range Doctor(context.Background(), "") {
			fmt.Println(f.Part, f.Version, f.Where)
		}
		os.Exit(0)
	}
	// The tests need managed servers.
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
	// The tests mostly wait, so more of them run in parallel.
	flag.Parse()
	_ = flag.Set("test.parallel", "4")
	os.Exit(m.Run())
}

// hold starts a stack, writes its addresses as a line of JSON and waits to be killed.
func hold(dir string) {
	stack, err := Start(context.Background(), Options{Dir: dir, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(stack.addresses())
	select {}
}

// holder is another process that holds a stack.
type holder struct {
	Addresses
	process *exec.Cmd
}

// startHolder runs program, a copy of this test program, as who.
func startHolder(t *testing.T, program, dir string, who account, env ...string) holder {
	t.Helper()
	if dir == "" {
		dir = "-"
	}
	h := holder{process: exec.Command(program)}
	h.process.Env = append(append(os.Environ(), holdVariable+"="+dir), env...)
	h.process.Dir = "/"
	h.process.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential()}
	var complaints strings.Builder
	h.process.Stderr = &complaints
	output, err := h.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.kill() })
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		h.kill()
		t.Fatalf("the other process did not start its stack: %v\n%s", err, complaints.String())
	}
	if err := json.Unmarshal(line, &h.Addresses); err != nil {
		t.Fatal(err)
	}
	return h
}

// kill sends SIGKILL, so the process cannot clean up.
func (h holder) kill() {
	if h.process.ProcessState == nil {
		_ = h.process.Process.Kill()
		_ = h.process.Wait()
	}
}

func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// openFolder returns a folder that the account which runs PostgreSQL for root can enter; t.TempDir
// cannot be entered.
func openFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "cairn-devstack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// settledFolder returns an openFolder whose stack has run before, on ports that no other stack on
// this machine chooses while it is down.
func settledFolder(t *testing.T) string {
	t.Helper()
	folder := openFolder(t)
	own, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(portsFile(folder), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

func start(t *testing.T, o Options) *Stack {
	t.Helper()
	if testing.Verbose() {
		o.Log = os.Stderr
	}
	stack, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	return stack
}

func execute(t *testing.T, address, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func ask[T any](t *testing.T, address, query string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var answer T
	if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

// until polls a condition.
func until(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// processes lists processes whose command line contains words, except zombies.
func processes(t *testing.T, words string) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(entries) == 0 {
		t.Skip("this system has no /proc to count processes in")
	}
	var found []string
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err == nil && strings.Contains(string(text), words) {
			found = append(found, filepath.Base(filepath.Dir(entry))+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

func copyProgram(t *testing.T, folder string) string {
	t.Helper()
	from, err := os.Open(program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(folder, "holder")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
