package apptest

import (
	"os/exec"
	"testing"

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/testkit"
)

// Process is a worker in a process of its own, which can be killed.
type Process struct {
	t   testing.TB
	cmd *exec.Cmd
}

// StartProcess runs the worker as a process of its own with the bundle's
// configuration; environ overrides it. It ends with the test.
func (b *Bundle) StartProcess(environ ...string) *Process {
	b.T.Helper()
	return b.startProcess(environ)
}

// StartQueue is StartProcess for one queue.
func (b *Bundle) StartQueue(queue string) *Process {
	b.T.Helper()
	return b.startProcess(nil, "--queues", queue)
}

func (b *Bundle) startProcess(environ []string, arguments ...string) *Process {
	b.T.Helper()
	cmd := exec.Command(devtest.Program(b.T, "cairn/worker"), arguments...)
	for _, s := range b.Config.Settings() {
		cmd.Env = append(cmd.Env, s.Name+"="+s.Value)
	}
	c := b.Config
	cmd.Env = append(cmd.Env, "DATABASE_URL="+c.DatabaseURL, "OPENAI_API_KEY="+c.APIKey,
		"CAIRN_EMBEDDING_API_KEY="+c.EmbeddingAPIKey, "HOME="+b.T.TempDir(), "CAIRN_CONFIG=/dev/null")
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stdout, cmd.Stderr = b.T.Output(), b.T.Output()
	testkit.Must(b.T, cmd.Start())
	p := &Process{t: b.T, cmd: cmd}
	b.T.Cleanup(p.Kill)
	return p
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	_ = p.cmd.Wait()
}
