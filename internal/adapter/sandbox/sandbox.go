// Package sandbox runs a command in isolation: in its own Linux namespaces, with some folders of
// system programs to read and one empty folder to write. It has no network, environment, other
// processes, devices or capabilities.
//
//	func main() {
//		sandbox.Enter() // first: the program is its own sandbox's first process
//		…
//	}
//
//	job := sandbox.Job{Files: files, Argv: []string{"python3", "scripts/check.py"}, Limits: sandbox.DefaultLimits()}
//	out, err := sandbox.Run(ctx, job)
//
// Files are in the sandbox's memory. When either process ends, even by kill -9, no file and no
// process remains. It works for root, and for ordinary users if the kernel allows them user
// namespaces. Otherwise Run fails with Misconfigured. A command never runs without a sandbox.
package sandbox

import (
	"fmt"
	"path"
	"path/filepath"
	"time"

	"cairn/internal/domain/fault"
)

// Job is a command with its files and limits.
type Job struct {
	Files []File `json:"files"`
	// A program of PATH, or a path below the folder of the files. If it is empty, the sandbox is
	// only set up.
	Argv   []string `json:"argv"`
	Limits Limits   `json:"limits"`
}

// File is placed in the working folder of the command.
type File struct {
	Path       string `json:"path"` // below that folder, separated by slashes
	Content    []byte `json:"content"`
	Executable bool   `json:"executable,omitempty"`
}

// Limits are the limits of a job. All must be above 0.
type Limits struct {
	Wall   time.Duration `json:"wall"`   // from start to end
	CPU    time.Duration `json:"cpu"`    // of one process, in whole seconds
	Memory int64         `json:"memory"` // address space of one process, in bytes
	// Together limits the memory of all processes, in bytes: what is resident, and what the buffers of
	// their sockets can hold. It is checked every 20 ms. With Groups, the kernel limits memory and Disk
	// together.
	Together  int64 `json:"together"`
	Processes int   `json:"processes"` // at the same time, including threads; no more can be started
	File      int64 `json:"file"`      // size of one file, in bytes; a larger write fails
	Disk      int64 `json:"disk"`      // of all files, in bytes; a larger write fails
	Open      int   `json:"open"`      // open files of one process
	Output    int   `json:"output"`    // of standard output and of standard error, in bytes each
}

// DefaultLimits returns limits that suffice for a script that checks or converts something.
func DefaultLimits() Limits {
	return Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 1 << 30, Together: 512 << 20, Processes: 32,
		File: 16 << 20, Disk: 64 << 20, Open: 128, Output: 64 << 10}
}

// Stop is the reason why a job was stopped.
type Stop string

const (
	StopWall      Stop = "wall"
	StopCPU       Stop = "cpu"
	StopMemory    Stop = "memory"
	StopOutput    Stop = "output"
	StopCancelled Stop = "cancelled"
)

// Outcome is the result of a job.
type Outcome struct {
	Exit    int    // exit code, or 128 plus the signal's number
	Stopped Stop   // empty if the command ended on its own
	Stdout  string // at most Limits.Output bytes
	Stderr  string
	Elapsed time.Duration
}

// initName is the program's name as the first process of a sandbox.
const initName = "cairn-sandbox"

func (j Job) check() error {
	l := j.Limits
	if min(int64(l.Wall), int64(l.CPU), l.Memory, l.Together, int64(l.Processes), l.File, l.Disk, int64(l.Open),
		int64(l.Output)) <= 0 {
		return fault.New(fault.InvalidArgument, "sandbox job has a limit of 0", "set all limits above 0")
	}
	for _, f := range j.Files {
		if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." {
			return fault.New(fault.OutOfScope, fmt.Sprintf("file %.80q is outside of the sandbox's folder",
				f.Path), "use a relative path below the folder")
		}
	}
	return nil
}

// impossible returns the error of a machine that cannot create a sandbox.
func impossible(cause error, doing string) error {
	return fault.Wrap(cause, fault.Misconfigured, "cannot create a sandbox on this machine: "+doing, hint)
}

const hint = "run the worker on Linux, as root or where user namespaces are allowed " +
	"(kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, " +
	"kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile that allows them)"
