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

// environment is the whole environment of a command.
var environment = []string{"PATH=" + programs, "HOME=/work", "TMPDIR=/tmp", "LANG=C.UTF-8"}

// programs are the folders in which commands are searched.
const programs = "/usr/local/bin:/usr/bin:/bin"

// order is a job as it is sent to the first process.
type order struct {
	Job
	User int `json:"user"` // of the command; 0 means that the sandbox has only this user
}

// begin is the first process of a sandbox. It builds the sandbox around itself, drops its rights
// and becomes the command. It returns only on failure.
func begin() int {
	// Capabilities, the system call filter and similar settings belong to a thread. The command
	// inherits those of the thread that becomes it.
	runtime.LockOSThread()
	status := os.NewFile(statusFD, "status")
	unix.CloseOnExec(statusFD)
	var o order
	err := json.NewDecoder(os.Stdin).Decode(&o)
	t := setupFailure{Doing: "read the job"}
	for _, step := range []struct {
		doing string
		do    func(order) error
	}{{"make the file system", build}, {"write the files", writeFiles}, {"leave the old file system", changeRoot},
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
	_ = json.NewEncoder(status).Encode(t) // the parent sees the exit code in any case
	return 1
}

// become replaces this process with the command, within the limits. It returns only on failure.
// missing is true if the program does not exist.
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
	// The command inherits no open files.
	if err := unix.CloseRange(statusFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return false, fmt.Errorf("close the open files: %w", err)
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
	// unix.Exec would allocate memory first.
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&env[0])))
	return errno == unix.ENOEXEC || errors.Is(errno, fs.ErrNotExist) || errors.Is(errno, fs.ErrPermission), errno
}

// settle prepares Go's runtime to continue with its current memory and threads. The runtime has
// more address space than most commands are allowed. Within their limits it can get no more of
// either, and it crashes if it asks.
func settle() {
	runtime.GOMAXPROCS(1) // only this thread runs, and no other has to start
	debug.SetGCPercent(-1)
	runtime.KeepAlive(make([]byte, 1<<20)) // free afterwards, for reporting a failure
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
