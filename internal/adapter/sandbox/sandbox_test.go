//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// bundle identifies the sandboxes of one test.
type bundle struct {
	t    *testing.T
	mark string // contained in the command lines of all processes and in the names of all files
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, mark: fmt.Sprintf("mark%d", rand.Uint64())}
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("SKIPPED, no sandbox can be made here: %v", err)
	}
	before := mounts(t)
	t.Cleanup(func() { b.nothingLeft(before) })
	return b
}

// small are limits that end quickly.
func small() sandbox.Limits {
	return sandbox.Limits{Wall: 2 * time.Second, CPU: 5 * time.Second, Memory: 16 << 30, Together: 256 << 20,
		Processes: 24, File: 1 << 20, Disk: 32 << 20, Open: 64, Output: 16 << 10}
}

// run runs a command in a sandbox.
func (b *bundle) run(l sandbox.Limits, files []sandbox.File, argv ...string) sandbox.Outcome {
	b.t.Helper()
	out, err := sandbox.Run(b.t.Context(), sandbox.Job{Files: files, Argv: argv, Limits: l})
	if err != nil {
		b.t.Fatalf("%v: %v\n%+v", argv, err, out)
	}
	return out
}

// script runs a shell script in a sandbox.
func (b *bundle) script(l sandbox.Limits, text string) sandbox.Outcome {
	b.t.Helper()
	name := "scripts/" + b.mark + ".sh"
	return b.run(l, []sandbox.File{{Path: name, Content: []byte(text)}}, "sh", name, b.mark)
}

// attempt runs this program in a sandbox.
func (b *bundle) attempt(name string, args ...string) sandbox.Outcome {
	b.t.Helper()
	limits := small()
	limits.Wall = 20 * time.Second // under the race detector on a busy machine an attempt takes seconds
	return b.attemptWithin(limits, name, args...)
}

func (b *bundle) attemptWithin(limits sandbox.Limits, name string, args ...string) sandbox.Outcome {
	b.t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b.t.Fatal(err)
	}
	out := b.run(limits, []sandbox.File{{Path: "bin/" + b.mark, Content: self, Executable: true}},
		append([]string{"bin/" + b.mark, "attempt", name}, args...)...)
	if strings.Contains(out.Stdout, "ESCAPED") {
		b.t.Errorf("%s: %s", name, out.Stdout)
	}
	if out.Stopped == "" && !strings.HasSuffix(out.Stdout, tried+"\n") {
		b.t.Errorf("%s was not tried to its end: %+v", name, out)
	}
	return out
}

// nothingLeft checks that no process and no file remains.
func (b *bundle) nothingLeft(before string) {
	if left := b.running(); len(left) > 0 {
		b.t.Errorf("%q is left", left)
	}
	for _, folder := range []string{"/", "/tmp", "/work", "/usr", "/usr/bin", "/etc", "/dev", "/dev/shm", "/var/tmp"} {
		left, _ := filepath.Glob(filepath.Join(folder, "*"+b.mark+"*"))
		if len(left) > 0 {
			b.t.Errorf("%v is left", left)
		}
	}
	if after := mounts(b.t); after != before {
		b.t.Errorf("mounts were\n%s\nand are\n%s", before, after)
	}
	if err := sandbox.Probe(context.Background()); err != nil {
		b.t.Errorf("no sandbox can be made any more: %v", err)
	}
}

// running lists the command lines that contain the mark.
func (b *bundle) running() (out []string) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, file := range all {
		if raw, _ := os.ReadFile(file); strings.Contains(string(raw), b.mark) {
			out = append(out, string(raw))
		}
	}
	return out
}

func mounts(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestACommandWorksOnACopyOfItsFiles(t *testing.T) {
	b := setup(t)
	out := b.run(small(), []sandbox.File{{Path: "scripts/add.sh",
		Content: []byte("echo $(($1 + $2)) | tee sum; cat reference/note.md >&2; exit 3\n")},
		{Path: "reference/note.md", Content: []byte("noted")}}, "sh", "scripts/add.sh", "2", "40")
	if out.Stdout != "42\n" || out.Stderr != "noted" || out.Exit != 3 || out.Stopped != "" {
		t.Errorf("%+v", out)
	}
	if out := b.run(small(), nil, "ls", "-A"); out.Stdout != "" || out.Exit != 0 {
		t.Errorf("another command finds %+v", out)
	}
	if out := b.script(small(), "cat && echo at the end; echo x > /tmp/y && cat /tmp/y; id -u"); !strings.HasPrefix(
		out.Stdout, "at the end\nx\n") {
		t.Errorf("an empty input and a folder to write: %+v", out)
	}
}

func TestWhatCannotBeBegunIsRefused(t *testing.T) {
	setup(t)
	for _, path := range []string{"../x", "/etc/x", "a/../../x", "a//b", ".", ""} {
		_, err := sandbox.Run(t.Context(), sandbox.Job{Files: []sandbox.File{{Path: path}}, Argv: []string{"true"},
			Limits: small()})
		if fault.CodeOf(err) != fault.OutOfScope {
			t.Errorf("file %q: %v", path, err)
		}
	}
	for _, argv := range [][]string{{"no-such-program"}, {"scripts/none.sh"}, {"/etc"}} {
		if _, err := sandbox.Run(t.Context(),
			sandbox.Job{Argv: argv, Limits: small()}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%v: %v", argv, err)
		}
	}
	if _, err := sandbox.Run(t.Context(), sandbox.Job{Argv: []string{"true"}}); fault.CodeOf(
		err) != fault.InvalidArgument {
		t.Errorf("no limits: %v", err)
	}
	twice := []sandbox.File{{Path: "a"}, {Path: "a/b"}} // one path needs the other to be a folder
	if _, err := sandbox.Run(t.Context(), sandbox.Job{Files: twice, Argv: []string{"true"},
		Limits: small()}); err == nil {
		t.Error("a file was written into a file")
	}
}

// Within the limits of a command, the process that becomes it gets no more memory.
func TestACommandBeginsHoweverMuchItIsGiven(t *testing.T) {
	testkit.Long(t)
	setup(t)
	l := small()
	l.Wall, l.Memory = time.Minute, 64<<20 // Go's runtime has more
	for size := range 24 {
		argv := []string{"sh", "-c", "echo $#", "sh"}
		for range 1 + size%8 {
			argv = append(argv, strings.Repeat("x", 100<<10))
		}
		files := []sandbox.File{{Path: "read", Content: make([]byte, size<<15)}}
		out, err := sandbox.Run(t.Context(), sandbox.Job{Files: files, Argv: argv, Limits: l})
		if err != nil || out.Stdout != fmt.Sprintln(len(argv)-4) {
			t.Errorf("%d arguments, a file of %d KiB: %+v %v", len(argv), size<<5, out, err)
		}
		argv[0] = "no-such-shell"
		if _, err := sandbox.Run(t.Context(),
			sandbox.Job{Files: files, Argv: argv, Limits: l}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%d arguments, a file of %d KiB, no program: %v", len(argv), size<<5, err)
		}
	}
}

func TestNothingOfTheWorkerIsSeen(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-the-workers-own")
	b := setup(t)
	out := b.attempt("environment")
	names := []string{}
	for _, line := range strings.Fields(strings.TrimSuffix(out.Stdout, tried+"\n")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"HOME", "LANG", "PATH", "TMPDIR"}) {
		t.Errorf("its environment: %s", out.Stdout)
	}
	b.attempt("processes", fmt.Sprint(os.Getpid()))

	secret := filepath.Join(t.TempDir(), b.mark+"-secret")
	if err := os.WriteFile(secret, []byte("the worker's own"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := b.attempt("outside", b.mark, secret); strings.Contains(out.Stdout, "no link") {
		t.Errorf("it could not try: %s", out.Stdout)
	}
	b.attempt("rights")
}

func TestNothingIsReachedOverANetwork(t *testing.T) {
	b := setup(t)
	heard := make(chan string, 10)
	var addresses []string
	for _, l := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"unix", "@" + b.mark},
		{"unix", filepath.Join(t.TempDir(), "s")}} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		addresses = append(addresses, strings.TrimPrefix(listener.Addr().String(), "@"))
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				heard <- l.network
				c.Close()
			}
		}()
		c, err := net.Dial(l.network, listener.Addr().String()) // proves that it can be reached at all
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		<-heard
	}
	if out := b.attempt("network", addresses...); out.Exit != 0 {
		t.Errorf("%+v", out)
	}
	select {
	case who := <-heard:
		t.Errorf("the listener for %s heard of it", who)
	default:
	}
}

func TestEveryLimitEndsWhatGoesOverIt(t *testing.T) {
	testkit.Long(t)
	with := func(change func(*sandbox.Limits)) sandbox.Limits {
		l := small()
		change(&l)
		return l
	}
	quick := with(func(l *sandbox.Limits) { l.Wall = 300 * time.Millisecond })
	patient := with(func(l *sandbox.Limits) { l.Wall, l.CPU = time.Minute, time.Minute }) // for a slow machine
	for name, c := range map[string]struct {
		limits sandbox.Limits
		script string
		stop   sandbox.Stop
		failed bool // ended on its own
	}{
		"endless loop": {quick, "while :; do :; done", sandbox.StopWall, false},
		"sleep":        {quick, "trap '' TERM INT HUP; sleep 60", sandbox.StopWall, false},
		"processor": {with(func(l *sandbox.Limits) { l.CPU, l.Wall = time.Second, 10*time.Second }),
			"while :; do :; done", sandbox.StopCPU, false},
		"fork bomb": {quick, "exec 2>/dev/null; bomb() { (bomb | bomb) & }; bomb; while :; do :; done",
			sandbox.StopWall, false},
		"gigabyte of output": {patient, "head -c 1000000000 /dev/zero", sandbox.StopOutput, false},
		"gigabyte of errors": {patient, "head -c 1000000000 /dev/zero >&2", sandbox.StopOutput, false},
		"gigabyte in a file": {patient, "exec head -c 1000000000 /dev/zero > big", "", true},
		"gigabyte of files": {patient, "i=0; while [ $i -lt 1000 ]; do head -c 1000000 /dev/zero > f$i || exit " +
			"9; i=$((i+1)); done", "", true},
		"files without end": {patient, "i=0; while :; do : > e$i || exit 9; i=$((i+1)); done", "", true},
		"daemon": {small(), "(setsid sh -c 'setsid sleep 60 & sleep 60' >/dev/null 2>&1 &); echo left",
			"", false},
		"many processes": {patient, "i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; exit 0", "",
			true},
		"memory, all together": {patient, "for i in 1 2 3 4; do (x=$(head -c 90000000 /dev/zero | tr '\\0' x); " +
			"sleep 5; echo $x >/dev/null) & done; wait", sandbox.StopMemory, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			out := b.script(c.limits, c.script)
			if out.Stopped != c.stop || c.failed && out.Exit == 0 || len(out.Stdout) > c.limits.Output ||
				len(out.Stderr) > c.limits.Output {
				t.Errorf("stopped by %q after %v, exit %d: %.200s", out.Stopped, out.Elapsed, out.Exit, out.Stderr)
			}
			if out.Elapsed > c.limits.Wall+30*time.Second {
				t.Errorf("it took %v", out.Elapsed)
			}
		})
	}
}

func TestAProcessThatLeavesItsParentEndsWithTheCommand(t *testing.T) {
	b := setup(t)
	if out := b.attempt("daemon", b.mark); !strings.Contains(out.Stdout, "left behind: <nil>") {
		t.Errorf("it could not try: %+v", out)
	}
	if out := b.attempt("memory"); out.Stopped != sandbox.StopMemory {
		t.Errorf("memory of one process: %+v", out)
	}
}

func TestACallerThatLeavesEndsTheCommand(t *testing.T) {
	b := setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	out, err := sandbox.Run(ctx, sandbox.Job{Argv: []string{"sleep", "60"}, Limits: small()})
	if err != nil || out.Stopped != sandbox.StopCancelled || out.Elapsed > 30*time.Second {
		t.Errorf("%+v %v", out, err)
	}
	_ = b
}

// The sandboxes of a killed worker end with it.
func TestAWorkerThatDiesLeavesNothing(t *testing.T) {
	b := setup(t)
	var said bytes.Buffer
	worker := exec.Command("/proc/self/exe", "attempt", "worker", b.mark)
	worker.Stdout, worker.Stderr = &said, &said
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the worker said: %s", &said)
		}
	})
	b.until("the command runs", func() bool { return len(b.running()) > 1 })
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait() // it was killed
	b.until("the command is gone", func() bool { return len(b.running()) == 0 })
}

// until polls, and gives up after 5 s.
func (b *bundle) until(what string, is func() bool) {
	b.t.Helper()
	for limit := time.Now().Add(5 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			b.t.Fatalf("it is not so that %s: %v", what, b.running())
		}
	}
}

// Without namespaces, no command runs.
func TestWithoutNamespacesNothingIsRun(t *testing.T) {
	b := setup(t)
	file := filepath.Join(os.TempDir(), b.mark)
	cmd := exec.Command("/proc/self/exe", "attempt", "refused", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}}
	raw, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(raw), "refused as misconfigured") {
		t.Errorf("%v: %s", err, raw)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was run all the same: %v", err)
	}
}

// The guarantees for root also hold for other users.
func TestOrdinaryUsersHaveTheSameSandbox(t *testing.T) {
	testkit.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("the other tests ran as an ordinary user")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v",
		"-test.run=Seen|Network|Copy|Leaves|Limit/(fork|many|memory|daemon|sleep)")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	raw, err := cmd.CombinedOutput()
	if strings.Contains(string(raw), "SKIPPED, no sandbox") {
		t.Skip("ordinary users may make no user namespaces here")
	}
	if err != nil || strings.Count(string(raw), "--- PASS") < 10 {
		t.Errorf("%v\n%s", err, raw)
	}
}
