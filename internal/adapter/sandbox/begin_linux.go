//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// environment is all that a command knows of where it runs.
var environment = []string{"PATH=" + programs, "HOME=/work", "TMPDIR=/tmp", "LANG=C.UTF-8"}

// programs are the folders in which commands are looked for.
const programs = "/usr/local/bin:/usr/bin:/bin"

// order is a job as the first process gets it.
type order struct {
	Job
	User int `json:"user"` // that the command runs as; 0 is the only one of the sandbox
}

// begin is the first process of a sandbox: it builds the sandbox around itself,
// gives up what it could still do, and becomes the command. It returns only when
// one of these fails.
func begin() int {
	// Capabilities, the filter of system calls and the like belong to a thread, and
	// the command inherits those of the thread that becomes it.
	runtime.LockOSThread()
	status := os.NewFile(statusFD, "status")
	unix.CloseOnExec(statusFD)
	var o order
	err := json.NewDecoder(os.Stdin).Decode(&o)
	t := told{Doing: "read the job"}
	for _, step := range []struct {
		doing string
		do    func(order) error
	}{{"make the file system", build}, {"write the files", furnish}, {"leave the old file system", enclose},
		{"give up rights", confine}} {
		if err != nil {
			break
		}
		t.Doing = step.doing
		err = step.do(o)
	}
	if err == nil && len(o.Argv) == 0 {
		return 0
	}
	if err == nil {
		t.Doing = "run " + o.Argv[0]
		t.Missing, err = become(o.Argv, o.Limits)
	}
	t.Error = err.Error()
	_ = json.NewEncoder(status).Encode(t) // nobody is left to hear of more
	return 1
}

// become replaces this process with the command, within the limits. It returns only
// when it cannot, and whether that is because there is no such program.
func become(argv []string, l Limits) (missing bool, err error) {
	file := argv[0]
	if !strings.Contains(file, "/") {
		found := false
		for _, folder := range filepath.SplitList(programs) {
			if info, err := os.Stat(filepath.Join(folder, file)); err == nil && info.Mode().IsRegular() {
				file, found = filepath.Join(folder, file), true
				break
			}
		}
		if !found {
			return true, exec.ErrNotFound
		}
	}
	// Whatever this process has open, the command has not.
	if err := unix.CloseRange(statusFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return false, fmt.Errorf("close what is open: %w", err)
	}
	path, err := unix.BytePtrFromString(file)
	if err != nil {
		return false, err
	}
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return false, err
	}
	env, err := syscall.SlicePtrFromStrings(environment)
	if err != nil {
		return false, err
	}
	settle()
	if err := limit(l); err != nil {
		return false, err
	}
	// Not unix.Exec, which asks for memory first.
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&env[0])))
	return errno == unix.ENOEXEC || errors.Is(errno, fs.ErrNotExist) || errors.Is(errno, fs.ErrPermission), errno
}

// settle has Go's runtime get by with the memory and the threads that it has by
// then. It has more address space than most commands are allowed: within their
// limits it gets no more of either, and ends when it asks.
func settle() {
	runtime.GOMAXPROCS(1) // this thread's: nothing else is to run, and no thread has to begin for it
	debug.SetGCPercent(-1)
	runtime.KeepAlive(make([]byte, 1<<20)) // is free afterwards, for telling of a failure
	runtime.GC()
}

func limit(l Limits) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	for _, r := range []struct {
		what       int
		soft, hard uint64
	}{
		{unix.RLIMIT_CORE, 0, 0}, {unix.RLIMIT_MEMLOCK, 0, 0}, {unix.RLIMIT_MSGQUEUE, 0, 0},
		{unix.RLIMIT_SIGPENDING, 128, 128},
		{unix.RLIMIT_CPU, seconds, seconds}, {unix.RLIMIT_FSIZE, uint64(l.File), uint64(l.File)},
		{unix.RLIMIT_NOFILE, uint64(l.Open), uint64(l.Open)},
		{unix.RLIMIT_NPROC, uint64(l.Processes), uint64(l.Processes)},
		{unix.RLIMIT_AS, uint64(l.Memory), uint64(l.Memory)},
	} {
		if err := unix.Setrlimit(r.what, &unix.Rlimit{Cur: r.soft, Max: r.hard}); err != nil {
			return fmt.Errorf("set limit %d: %w", r.what, err)
		}
	}
	return nil
}
