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
	"strings"

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
	}{{"make the file system", build}, {"write the files", furnish}, {"leave the old file system", enclose}, {"give up rights", confine}} {
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
		err = become(o.Argv)
		t.Missing = errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOEXEC)
	}
	t.Error = err.Error()
	_ = json.NewEncoder(status).Encode(t) // nobody is left to hear of more
	return 1
}

// become replaces this process with the command.
func become(argv []string) error {
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
			return exec.ErrNotFound
		}
	}
	// Whatever this process has open, the command has not.
	if err := unix.CloseRange(statusFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what is open: %w", err)
	}
	return unix.Exec(file, argv, environment)
}
