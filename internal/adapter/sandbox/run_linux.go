//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"cairn/internal/domain/fault"
)

// Enter takes over when the program was started as the first process of a
// sandbox, and does not return then. It is the first call of main.
func Enter() {
	if len(os.Args) == 1 && os.Args[0] == initName {
		os.Exit(begin())
	}
}

// statusFD is where the first process tells why it could not set the sandbox up;
// it closes when the command begins.
const statusFD = 3

// Probe tells whether sandboxes can be made here.
func Probe(ctx context.Context) error {
	_, err := Run(ctx, Job{Limits: DefaultLimits()})
	return err
}

// Run runs a job to its end. An error means that the command was not begun:
// OutOfScope for a file that would lie elsewhere, InvalidArgument for a program
// that is not there, Misconfigured where no sandbox can be made.
func Run(ctx context.Context, job Job) (out Outcome, err error) {
	if err := job.check(); err != nil {
		return out, err
	}
	input, err := json.Marshal(order{job, user()})
	if err != nil {
		return out, fmt.Errorf("encode a sandbox's job: %w", err)
	}
	status, theirs, err := os.Pipe()
	if err != nil {
		return out, fmt.Errorf("open a sandbox's pipe: %w", err)
	}
	defer status.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout, stderr := &capped{most: job.Limits.Output, full: cancel}, &capped{most: job.Limits.Output, full: cancel}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{initName}, []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = bytes.NewReader(input), stdout, stderr, []*os.File{theirs}
	cmd.SysProcAttr = attributes()

	// The kernel kills the child when the thread that made it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return out, impossible(err, "it cannot start a process in namespaces of its own")
	}
	var watching sync.WaitGroup
	ended := make(chan struct{})
	watching.Go(func() { watch(ctx, cmd.Process, job.Limits, cancel, ended) })
	told, _ := io.ReadAll(io.LimitReader(status, maxTold)) // what breaks off is no refusal
	err = cmd.Wait()
	close(ended)
	watching.Wait()
	out = Outcome{Stdout: string(stdout.kept), Stderr: string(stderr.kept), Elapsed: time.Since(began)}
	if len(told) > 0 {
		return out, refusal(told)
	}
	if cmd.ProcessState == nil {
		return out, fmt.Errorf("wait for a sandbox: %w", err)
	}
	out.Exit, out.Stopped = ending(cmd.ProcessState, job.Limits, context.Cause(ctx))
	return out, nil
}

// attributes put the child into namespaces. Root's sandbox has two users: one to
// set it up, and nobody, whose processes the kernel counts; anybody else's has
// that user alone.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Setsid:      true, // no terminal
		Pdeathsig:   syscall.SIGKILL,
	}
	if user() != 0 {
		a.UidMappings = append(a.UidMappings, syscall.SysProcIDMap{ContainerID: inner, HostID: nobody, Size: 1})
		a.GidMappings = append(a.GidMappings, syscall.SysProcIDMap{ContainerID: inner, HostID: nobody, Size: 1})
		a.GidMappingsEnableSetgroups = true
	}
	return a
}

// user is whom a command runs as, by its number in the sandbox.
func user() int {
	if os.Geteuid() == 0 {
		return inner
	}
	return 0
}

const (
	nobody = 65534 // of the machine
	inner  = 1000  // what nobody is called in the sandbox
)

// maxTold bounds what a first process says of its failure, in bytes.
const maxTold = 4 << 10

// told is why the command was not begun.
type told struct {
	Doing   string `json:"doing"`
	Error   string `json:"error"`
	Missing bool   `json:"missing,omitempty"` // the program is not there
}

func refusal(raw []byte) error {
	var t told
	if err := json.Unmarshal(raw, &t); err != nil {
		return impossible(fmt.Errorf("%.200s", raw), "its first process failed")
	}
	if t.Missing {
		return fault.New(fault.InvalidArgument, t.Doing+": "+t.Error, "use a program that the worker's machine has")
	}
	return impossible(errors.New(t.Error), t.Doing)
}

// ending is how the command ended, and by which limit.
func ending(s *os.ProcessState, l Limits, cause error) (exit int, stopped Stop) {
	exit = s.ExitCode()
	w, _ := s.Sys().(syscall.WaitStatus)
	if !w.Signaled() {
		return exit, ""
	}
	exit = 128 + int(w.Signal())
	var why stopping
	switch {
	case errors.As(cause, &why):
		return exit, Stop(why)
	case cause != nil:
		return exit, StopCancelled
	// the limit goes by ticks, of which a busy machine counts too many
	case w.Signal() == syscall.SIGKILL && s.UserTime()+s.SystemTime() >= l.CPU/2:
		return exit, StopCPU
	case w.Signal() == syscall.SIGKILL: // nothing in the sandbox can: the machine has no memory left
		return exit, StopMemory
	}
	return exit, ""
}

// stopping is the limit for which a job is being ended.
type stopping Stop

func (s stopping) Error() string { return "limit: " + string(s) }

// capped keeps the first bytes of what is written and stops the job that writes
// more.
type capped struct {
	kept []byte
	most int
	full context.CancelCauseFunc
}

func (c *capped) Write(p []byte) (int, error) {
	room := min(c.most-len(c.kept), len(p))
	c.kept = append(c.kept, p[:room]...)
	if room < len(p) { // the rest is read and forgotten until the writer is dead
		c.full(stopping(StopOutput))
	}
	return len(p), nil
}
