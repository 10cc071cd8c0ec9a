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

// Enter must be the first call of main. If the program was started as the first process of a
// sandbox, Enter takes over and does not return.
func Enter() {
	if len(os.Args) == 1 && os.Args[0] == initName {
		os.Exit(begin())
	}
}

// statusFD is the descriptor on which the first process reports why the setup failed. It closes
// when the command starts.
const statusFD = 3

// Probe returns an error if no sandbox can be created on this machine.
func Probe(ctx context.Context) error {
	_, err := Run(ctx, Job{Limits: DefaultLimits()})
	return err
}

// Run is Groups.Run without a cgroup.
func Run(ctx context.Context, job Job) (Outcome, error) { return (*Groups)(nil).Run(ctx, job) }

// Run runs a job to its end. An error means that the command was not started: OutOfScope for a file
// outside of the folder, InvalidArgument for a missing program, Misconfigured if no sandbox can be
// created.
func (g *Groups) Run(ctx context.Context, job Job) (out Outcome, err error) {
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
	own, err := g.create(job.Limits)
	if err != nil {
		theirs.Close()
		return out, err
	}
	defer own.remove()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout, stderr := &capped{most: job.Limits.Output, full: cancel}, &capped{most: job.Limits.Output, full: cancel}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{initName}, []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = bytes.NewReader(input), stdout, stderr, []*os.File{theirs}
	cmd.SysProcAttr = attributes()
	if own != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(own.handle.Fd())
	}

	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return out, impossible(err, "cannot start a process in new namespaces")
	}
	var watching sync.WaitGroup
	ended := make(chan struct{})
	watching.Go(func() { watch(ctx, cmd.Process, job.Limits, cancel, ended) })
	report, _ := io.ReadAll(io.LimitReader(status, maxFailure)) // a read error is not a failure of the setup
	own.begun(job.Limits)
	err = cmd.Wait()
	close(ended)
	watching.Wait()
	out = Outcome{Stdout: string(stdout.kept), Stderr: string(stderr.kept), Elapsed: time.Since(began)}
	if len(report) > 0 {
		return out, refusal(report)
	}
	if cmd.ProcessState == nil {
		return out, fmt.Errorf("wait for a sandbox: %w", err)
	}
	out.Exit, out.Stopped = ending(cmd.ProcessState, job.Limits, context.Cause(ctx))
	if own.exhausted() && context.Cause(ctx) == nil {
		out.Stopped = StopMemory
	}
	return out, nil
}

// attributes returns the attributes that put the child into namespaces. Root's sandbox has two
// users: root for the setup, and nobody, whose processes the kernel counts. The sandbox of another
// user has only that user.
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

// user returns the user ID of a command inside the sandbox.
func user() int {
	if os.Geteuid() == 0 {
		return inner
	}
	return 0
}

const (
	nobody = 65534 // user ID on the machine
	inner  = 1000  // user ID of nobody in the sandbox
)

// maxFailure is the maximum size of a reported failure, in bytes.
const maxFailure = 4 << 10

// setupFailure is the reason why the command was not started.
type setupFailure struct {
	Doing   string `json:"doing"`
	Error   string `json:"error"`
	Missing bool   `json:"missing,omitempty"` // the program does not exist
}

func refusal(raw []byte) error {
	var t setupFailure
	if err := json.Unmarshal(raw, &t); err != nil {
		return impossible(fmt.Errorf("%.200s", raw), "its first process failed")
	}
	if t.Missing {
		return fault.New(fault.InvalidArgument, t.Doing+": "+t.Error,
			"use a program that is installed on the worker's machine")
	}
	return impossible(errors.New(t.Error), t.Doing)
}

// ending returns the exit code and the limit that stopped the command.
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
	// The kernel applies the limit in clock ticks, and a busy machine counts too many of them.
	case w.Signal() == syscall.SIGKILL && s.UserTime()+s.SystemTime() >= l.CPU/2:
		return exit, StopCPU
	case w.Signal() == syscall.SIGKILL: // only the kernel can do this: the machine is out of memory
		return exit, StopMemory
	}
	return exit, ""
}

// stopping is the error for the limit that stops a job.
type stopping Stop

func (s stopping) Error() string { return "limit: " + string(s) }

// capped keeps the first bytes that are written, and stops a job that writes more.
type capped struct {
	kept []byte
	most int
	full context.CancelCauseFunc
}

func (c *capped) Write(p []byte) (int, error) {
	room := min(c.most-len(c.kept), len(p))
	c.kept = append(c.kept, p[:room]...)
	if room < len(p) { // the rest is discarded until the writer has died
		c.full(stopping(StopOutput))
	}
	return len(p), nil
}
