// Package workerproc builds Cairn's worker and runs it as a separate process,
// so that an experiment can kill it and measure its resources.
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

// Built returns program, or builds the worker if program is empty.
func Built(ctx context.Context, program, folder string) (string, error) {
	if program != "" {
		return program, nil
	}
	return Build(ctx, folder)
}

// Process is a running worker. It ends with this process where the system
// supports it.
type Process struct {
	command *exec.Cmd
	exited  chan struct{}
}

// Start runs program with the settings. It passes only PATH and HOME from the environment
// of this process. Output goes to log.
func Start(program string, settings []string, log io.Writer) (*Process, error) {
	command := exec.Command(program)
	// An empty settings file, so that a cairn.env in this folder is not read.
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"CAIRN_CONFIG=" + os.DevNull}, settings...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = dieWithUs()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the worker: %w", err)
	}
	p := &Process{command: command, exited: make(chan struct{})}
	go func() {
		_ = command.Wait() // a killed worker reports an error
		close(p.exited)
	}()
	return p, nil
}

// Exited returns a channel that is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill kills the process at once with SIGKILL.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have exited
	<-p.exited
}

// Stop asks the process to exit and kills it after stopPatience.
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
