//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// unlimited returns Groups below a new cgroup of this machine, without controllers: in a hybrid
// hierarchy version 2 has none, and groups work all the same.
func unlimited(t *testing.T) *Groups {
	t.Helper()
	mount, own, err := ownGroup()
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	dir, err := os.MkdirTemp(filepath.Join(mount, own), "cairn-test-")
	if err != nil {
		t.Skipf("SKIPPED, this user cannot make a cgroup: %v", err)
	}
	t.Cleanup(func() { removeGroup(dir) })
	if err := Probe(t.Context()); err != nil {
		t.Skipf("SKIPPED, no sandbox can be made here: %v", err)
	}
	return &Groups{dir: dir}
}

func groupsIn(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	testkit.Must(t, err)
	return left
}

func TestACommandRunsInAGroupThatIsRemovedWithIt(t *testing.T) {
	t.Parallel()
	g := unlimited(t)
	limits := DefaultLimits()
	limits.Wall = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Outcome, 1)
	go func() {
		out, err := g.Run(ctx, Job{Argv: []string{"sh", "-c", "sleep 60 & sleep 60"}, Limits: limits})
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	testkit.Eventually(t, "the processes of the command to be in its group", func() bool {
		all := groupsIn(t, g.dir)
		if len(all) != 1 {
			return false
		}
		raw, _ := os.ReadFile(filepath.Join(all[0], "cgroup.procs"))
		return len(strings.Fields(string(raw))) >= 2
	})
	g.clean() // leaves groups of a live process alone
	if n := len(groupsIn(t, g.dir)); n != 1 {
		t.Errorf("%d groups", n)
	}
	cancel()
	if out := <-ended; out.Stopped != StopCancelled {
		t.Errorf("%+v", out)
	}
	if left := groupsIn(t, g.dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	for _, argv := range [][]string{{"true"}, {"no-such-program"}} {
		_, _ = g.Run(t.Context(), Job{Argv: argv, Limits: limits})
	}
	if left := groupsIn(t, g.dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// A worker that dies leaves groups, and in the worst case processes in them.
func TestGroupsOfADeadWorkerAreRemovedAtStart(t *testing.T) {
	t.Parallel()
	g := unlimited(t)
	dead := exec.Command("true")
	testkit.Must(t, dead.Run())
	self := strconv.Itoa(os.Getpid())
	names := map[string]bool{ // whether it stays
		strconv.Itoa(dead.Process.Pid) + "-123-1": false,
		self + "-1-1":                            false, // the process ID is used again
		self + "-" + startOf(os.Getpid()) + "-7": true,
		"not-a-number-of-a-process":              true,
	}
	for name := range names {
		testkit.Must(t, os.Mkdir(filepath.Join(g.dir, groupPrefix+name), 0o755))
	}
	left := exec.Command("sleep", "60")
	handle, err := os.Open(filepath.Join(g.dir, groupPrefix+self+"-1-1"))
	testkit.Must(t, err)
	defer handle.Close()
	left.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(handle.Fd())}
	testkit.Must(t, left.Start())
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	g.clean()
	if err := <-ended; err == nil {
		t.Error("a process of a dead worker ended on its own")
	}
	for name, stays := range names {
		_, err := os.Stat(filepath.Join(g.dir, groupPrefix+name))
		if (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
		removeGroup(filepath.Join(g.dir, groupPrefix+name))
	}
}

func TestTheKernelLimitsTheMemoryOfAGroup(t *testing.T) {
	g, err := OpenGroups()
	if err != nil {
		t.Skipf("SKIPPED, cgroup v2 with limits is not delegated to this process: %v", err)
	}
	limits := DefaultLimits()
	limits.Together, limits.Disk, limits.Wall = 64<<20, 1<<20, 20*time.Second
	one, err := g.create(limits)
	testkit.Must(t, err)
	defer one.remove()
	one.begun(limits)
	for file, want := range map[string]string{"memory.max": "68157440", "pids.max": "32"} {
		if raw, err := os.ReadFile(filepath.Join(one.dir, file)); err != nil || strings.TrimSpace(string(raw)) != want {
			t.Errorf("%s is %s, %v", file, raw, err)
		}
	}
	limits.Together = 8 << 30 // only the kernel limits it
	g2 := &Groups{dir: g.dir, limited: true}
	out, err := g2.Run(
		t.Context(),
		Job{Argv: []string{"sh", "-c", "head -c 200000000 /dev/zero | tail -c 150000000 | wc -c"}, Limits: limits},
	)
	testkit.Must(t, err)
	if out.Exit != 0 {
		t.Errorf("within the limit: %+v", out)
	}
	limits.Together = 32 << 20
	out, err = g2.Run(
		t.Context(),
		Job{Argv: []string{"sh", "-c", "head -c 200000000 /dev/zero | tail -c 150000000 | wc -c"}, Limits: limits},
	)
	testkit.Must(t, err)
	if out.Stopped != StopMemory {
		t.Errorf("above the limit: %+v", out)
	}
	if left := groupsIn(t, g.dir); slices.ContainsFunc(left, func(dir string) bool { return dir != one.dir }) {
		t.Errorf("%v is left", left)
	}
}
