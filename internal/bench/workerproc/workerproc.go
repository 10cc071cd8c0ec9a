// Package workerproc builds Cairn's worker and runs it as a process of its own,
// so that an experiment can kill it, and measure what it uses.
package workerproc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"cairn/internal/domain/fault"
)

// Build compiles the worker into folder and returns the program's path. The
// working directory must be inside the module.
func Build(ctx context.Context, folder string) (string, error) {
	program := filepath.Join(folder, "worker")
	type local struct{}
	module, _, _ := strings.Cut(reflect.TypeFor[local]().PkgPath(), "/internal/")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, module+"/worker").CombinedOutput()
	if err != nil {
		return "", fault.Wrap(fmt.Errorf("%w\n%s", err, output), fault.Misconfigured, "build the worker",
			"run this in a clone of Cairn, with Go on PATH")
	}
	return program, nil
}

// Built is program, or a worker that Build compiles when there is none yet.
func Built(ctx context.Context, program, folder string) (string, error) {
	if program != "" {
		return program, nil
	}
	return Build(ctx, folder)
}

// Process is a worker that was started. It ends with this process, whatever
// ends this one, where the system can arrange that.
type Process struct {
	command *exec.Cmd
	exited  chan struct{}
}

// Start runs program with the settings and nothing else of our environment but
// what a process needs to live. What it says goes to log.
func Start(program string, settings []string, log io.Writer) (*Process, error) {
	command := exec.Command(program)
	// An empty file of settings: a cairn.env in our folder is none of its business.
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"CAIRN_CONFIG=" + os.DevNull}, settings...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = dieWithUs()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the worker: %w", err)
	}
	p := &Process{command: command, exited: make(chan struct{})}
	go func() {
		_ = command.Wait() // a killed worker has nothing to say
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the process has gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have gone by itself
	<-p.exited
}

// Stop asks the process to end, and kills it when it takes too long.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopPatience):
		p.Kill()
	}
}

// stopPatience is longer than CAIRN_STOP_TIMEOUT of the experiments.
const stopPatience = 10 * time.Second
