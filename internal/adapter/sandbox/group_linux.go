//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Groups runs each command in a cgroup of its own, in which the kernel limits the memory of all its
// processes, their sockets and files, and the number of threads. It is safe for concurrent use. A nil
// Groups uses none.
type Groups struct {
	dir     string // cgroup v2 that is delegated to this process
	limited bool   // the controllers memory and pids are enabled for groups below dir
	next    atomic.Int64
}

// groupPrefix begins the names of groups: groupPrefix<process>-<its start>-<number>.
const groupPrefix = "cairn-sandbox-"

// ownLeaf is the group that this process moves to, because a group with limited children has no
// processes of its own.
const ownLeaf = "cairn-worker"

// Delegated returns the cgroup in which this process may create groups with limits. The error says why
// there is none.
func Delegated() (string, error) {
	mount, own, err := ownGroup()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(mount, own)
	if filepath.Base(dir) == ownLeaf { // an earlier call has moved this process
		dir, own = filepath.Dir(dir), filepath.Dir(own)
	}
	if missing := lacking(dir, "cgroup.controllers"); len(missing) > 0 {
		return "", fmt.Errorf("cgroup v2 has no controller %s here", strings.Join(missing, " and "))
	}
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(dir, file), unix.W_OK); err != nil {
			return "", errors.New("the cgroup of this process is not delegated to it")
		}
	}
	if own != "/" && os.Geteuid() == 0 && !markedDelegated(dir) { // root may write, but a service manager owns it
		return "", errors.New("the cgroup of this process is not delegated to it; with systemd, set Delegate=yes")
	}
	if len(lacking(dir, "cgroup.subtree_control")) == 0 {
		return dir, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return "", fmt.Errorf("read the processes of the cgroup: %w", err)
	}
	for _, pid := range strings.Fields(string(raw)) {
		if pid != strconv.Itoa(os.Getpid()) && !isRootGroup(dir) {
			return "", errors.New("other processes are in the cgroup of this process")
		}
	}
	return dir, nil
}

// OpenGroups prepares the delegated cgroup and removes groups of processes that have died. The error
// says why no cgroup can be used.
func OpenGroups() (*Groups, error) {
	dir, err := Delegated()
	if err != nil {
		return nil, err
	}
	if len(lacking(dir, "cgroup.subtree_control")) > 0 {
		if !isRootGroup(dir) {
			leaf := filepath.Join(dir, ownLeaf)
			if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("make a cgroup: %w", err)
			}
			if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0o644); err != nil {
				return nil, fmt.Errorf("move to cgroup %s: %w", ownLeaf, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids"),
			0o644); err != nil {
			return nil, fmt.Errorf("enable the limits of cgroups: %w", err)
		}
	}
	g := &Groups{dir: dir, limited: true}
	g.clean()
	return g, nil
}

// ownGroup returns where cgroup v2 is mounted and the path of this process's group in it.
func ownGroup() (mount, own string, err error) {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", fmt.Errorf("read the cgroup of this process: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if path, found := strings.CutPrefix(line, "0::"); found {
			own = strings.TrimSpace(path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", fmt.Errorf("read the mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 && fields[3] == "/" {
			mount = fields[4]
		}
	}
	if own == "" || mount == "" || strings.HasPrefix(own, "/..") {
		return "", "", errors.New("cgroup v2 is not mounted")
	}
	return mount, own, nil
}

// lacking returns which of the two controllers a file of a group does not list.
func lacking(dir, file string) []string {
	raw, _ := os.ReadFile(filepath.Join(dir, file))
	listed := strings.Fields(string(raw))
	return slices.DeleteFunc(
		[]string{"memory", "pids"},
		func(name string) bool { return slices.Contains(listed, name) },
	)
}

// markedDelegated reports whether systemd has marked the group as delegated.
func markedDelegated(dir string) bool {
	value := make([]byte, 8)
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// isRootGroup reports whether a group is the root of the machine, which may have both processes and
// limited children.
func isRootGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
	return errors.Is(err, fs.ErrNotExist)
}

// group is the cgroup of one command. A nil group limits nothing.
type group struct {
	dir     string
	limited bool
	handle  *os.File
}

// setupThreads is the number of threads that the first process may have before it becomes the command.
const setupThreads = 64

// create makes the group of a command.
func (g *Groups) create(l Limits) (*group, error) {
	if g == nil {
		return nil, nil
	}
	name := fmt.Sprintf("%s%d-%s-%d", groupPrefix, os.Getpid(), startOf(os.Getpid()), g.next.Add(1))
	one := &group{dir: filepath.Join(g.dir, name), limited: g.limited}
	if err := os.Mkdir(one.dir, 0o755); err != nil {
		return nil, impossible(err, "cannot make a cgroup")
	}
	var err error
	if g.limited {
		// Files of the command are memory of its group, too.
		err = errors.Join(one.set("memory.max", strconv.FormatInt(l.Together+l.Disk, 10)),
			one.set("pids.max", strconv.Itoa(l.Processes+setupThreads)))
		_ = one.set("memory.swap.max", "0") // not on a machine without swap
		_ = one.set("memory.oom.group", "1")
	}
	if err == nil {
		one.handle, err = os.OpenFile(one.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		one.remove()
		return nil, impossible(err, "cannot limit a cgroup")
	}
	return one, nil
}

func (o *group) set(file, value string) error {
	return os.WriteFile(filepath.Join(o.dir, file), []byte(value), 0o644)
}

// begun limits the number of threads to that of the command, which has replaced the first process.
func (o *group) begun(l Limits) {
	if o != nil && o.limited {
		_ = o.set("pids.max", strconv.Itoa(l.Processes)) // else RLIMIT_NPROC limits it
	}
}

// exhausted reports whether the kernel has killed a process because of the limit of memory.
func (o *group) exhausted() bool {
	if o == nil {
		return false
	}
	raw, _ := os.ReadFile(filepath.Join(o.dir, "memory.events"))
	for line := range bytes.Lines(raw) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == "oom_kill" && string(f[1]) != "0" {
			return true
		}
	}
	return false
}

// remove kills what is left in the group and removes it. A group that stays is removed by clean.
func (o *group) remove() {
	if o == nil {
		return
	}
	if o.handle != nil {
		_ = o.handle.Close()
	}
	removeGroup(o.dir)
}

// removeGroup waits up to a second, because the kernel ends processes in the background.
func removeGroup(dir string) {
	for range 100 {
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644)
		time.Sleep(10 * time.Millisecond)
	}
}

// clean removes the groups of processes that have died.
func (g *Groups) clean() {
	left, _ := filepath.Glob(filepath.Join(g.dir, groupPrefix+"*"))
	for _, dir := range left {
		owner := strings.Split(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		pid, err := strconv.Atoi(owner[0])
		if err != nil || len(owner) != 3 || startOf(pid) == owner[1] {
			continue
		}
		removeGroup(dir)
	}
}

// startOf returns when a process started, in ticks since the machine did; "" if there is none. With
// it, a process ID that is used again is another owner.
func startOf(pid int) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(raw, ')'); i >= 0 { // a program's name can contain anything
		if fields := bytes.Fields(raw[i+1:]); len(fields) > 19 {
			return string(fields[19])
		}
	}
	return ""
}
