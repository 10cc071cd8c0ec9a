package ground

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

// Main packages of the module.
const (
	Supervised = "worker"
	Cairn      = "starter" // the command line, with the gateway
)

// Build returns the absolute path of program. If program is empty, it compiles a main package of the
// module, Worker or Cairn, into folder. Then the working directory must be inside the module.
func Build(ctx context.Context, name, program, folder string) (string, error) {
	if program != "" {
		return filepath.Abs(program)
	}
	program = filepath.Join(folder, name)
	type local struct{}
	module, _, _ := strings.Cut(reflect.TypeFor[local]().PkgPath(), "/internal/")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, module+"/"+name).CombinedOutput()
	if err != nil {
		return "", fault.Wrap(fmt.Errorf("%w\n%s", err, output), fault.Misconfigured, "build the "+name,
			"run this in a clone of Cairn, with Go on PATH")
	}
	return program, nil
}

// Worker is a running program. It ends with this process where the system
// supports it.
type Worker struct {
	command *exec.Cmd
	exited  chan struct{}
}

// Environment returns that of a program with the settings. It contains only PATH and HOME from the
// environment of this process, and an empty settings file, so that a cairn.env in this folder is not read.
func Environment(settings []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "CAIRN_CONFIG=" + os.DevNull},
		settings...)
}

// StartWorker runs program with the settings and arguments. Output goes to log.
func StartWorker(program string, settings []string, log io.Writer, arguments ...string) (*Worker, error) {
	command := exec.Command(program, arguments...)
	command.Env = Environment(settings)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = dieWithUs()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	p := &Worker{command: command, exited: make(chan struct{})}
	go func() {
		_ = command.Wait() // a killed worker reports an error
		close(p.exited)
	}()
	return p, nil
}

// Exited returns a channel that is closed when the process has exited.
func (p *Worker) Exited() <-chan struct{} { return p.exited }

// Kill kills the process at once with SIGKILL.
func (p *Worker) Kill() {
	_ = p.command.Process.Kill() // it may have exited
	<-p.exited
}

// Terminate asks the process to exit, with SIGTERM.
func (p *Worker) Terminate() { _ = p.command.Process.Signal(syscall.SIGTERM) } // it may have exited

// ExitCode returns the code of an exited process, -1 if a signal ended it.
func (p *Worker) ExitCode() int {
	<-p.exited
	return p.command.ProcessState.ExitCode()
}

// Stop asks the process to exit and kills it after stopPatience.
func (p *Worker) Stop() {
	p.Terminate()
	select {
	case <-p.exited:
	case <-time.After(stopPatience):
		p.Kill()
	}
}

// stopPatience is longer than CAIRN_STOP_TIMEOUT of the experiments.
const stopPatience = 10 * time.Second
