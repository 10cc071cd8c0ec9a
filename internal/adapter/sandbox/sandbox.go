// Package sandbox runs a command where it can do no harm: in Linux namespaces of
// its own, with a few folders of system programs to read, one empty folder to
// write, and nothing else — no network, no environment, no other process, no
// device, no capability.
//
//	func main() {
//		sandbox.Enter() // first: the program is its own sandbox's first process
//		…
//	}
//
//	job := sandbox.Job{Files: files, Argv: []string{"python3", "scripts/check.py"}, Limits: sandbox.DefaultLimits()}
//	out, err := sandbox.Run(ctx, job)
//
// Files live in memory of the sandbox: whatever happens to either process, even
// kill -9, nothing is left of them, and no process either. It works for root and
// for ordinary users whom the kernel lets make user namespaces; where it does
// not, Run is Misconfigured. It never runs anything without a sandbox.
package sandbox

import (
	"fmt"
	"path"
	"path/filepath"
	"time"

	"cairn/internal/domain/fault"
)

// Job is a command with what it works on.
type Job struct {
	Files []File `json:"files"`
	// a program of PATH, or a path below the folder of the files; none only sets the sandbox up
	Argv   []string `json:"argv"`
	Limits Limits   `json:"limits"`
}

// File is put into the folder in which the command starts.
type File struct {
	Path       string `json:"path"` // below that folder, with slashes
	Content    []byte `json:"content"`
	Executable bool   `json:"executable,omitempty"`
}

// Limits of a job. All must be above 0.
type Limits struct {
	Wall      time.Duration `json:"wall"`      // from start to end
	CPU       time.Duration `json:"cpu"`       // of one process, in whole seconds
	Memory    int64         `json:"memory"`    // address space of one process, in bytes
	Together  int64         `json:"together"`  // resident memory of all processes, in bytes; looked at every 20 ms
	Processes int           `json:"processes"` // at once, threads included; beyond, none can be started
	File      int64         `json:"file"`      // size of one file, in bytes; a write beyond fails
	Disk      int64         `json:"disk"`      // of all files, in bytes; a write beyond fails
	Open      int           `json:"open"`      // files of one process
	Output    int           `json:"output"`    // of standard output and of standard error, in bytes each
}

// DefaultLimits are enough for a script that checks or converts something.
func DefaultLimits() Limits {
	return Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 1 << 30, Together: 512 << 20, Processes: 32,
		File: 16 << 20, Disk: 64 << 20, Open: 128, Output: 64 << 10}
}

// Stop is the limit that ended a job.
type Stop string

const (
	StopWall      Stop = "wall"
	StopCPU       Stop = "cpu"
	StopMemory    Stop = "memory"
	StopOutput    Stop = "output"
	StopCancelled Stop = "cancelled"
)

// Outcome is what a job came to.
type Outcome struct {
	Exit    int    // code, or 128 and the signal's number
	Stopped Stop   // empty when it ended by itself
	Stdout  string // at most Limits.Output bytes
	Stderr  string
	Elapsed time.Duration
}

// initName is what the program is called as the first process of a sandbox.
const initName = "cairn-sandbox"

func (j Job) check() error {
	l := j.Limits
	if min(int64(l.Wall), int64(l.CPU), l.Memory, l.Together, int64(l.Processes), l.File, l.Disk, int64(l.Open),
		int64(l.Output)) <= 0 {
		return fault.New(fault.InvalidArgument, "a job without a limit", "set all of its limits")
	}
	for _, f := range j.Files {
		if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." {
			return fault.New(fault.OutOfScope, fmt.Sprintf("the file %.80q would lie outside of the sandbox's folder",
				f.Path), "use a path below it")
		}
	}
	return nil
}

// impossible is a sandbox that cannot be made here.
func impossible(cause error, doing string) error {
	return fault.Wrap(cause, fault.Misconfigured, "this machine lets the worker make no sandbox: "+doing, hint)
}

const hint = "commands are never run without one: run the worker on Linux, as root or where user namespaces are " +
	"allowed " +
	"(kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, " +
	"kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile that lets it)"
