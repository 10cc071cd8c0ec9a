package apptest

import (
	"os/exec"
	"testing"

	"cairn/internal/lab/devtest"
	"cairn/internal/testkit"
)

// Process is a worker or a gateway in a separate process, which a test can kill.
type Process struct {
	t   testing.TB
	cmd *exec.Cmd
}

// StartProcess starts the worker as a separate process with the bundle's configuration, which environ
// overrides. The process ends with the test.
func (b *Bundle) StartProcess(environ ...string) *Process {
	b.T.Helper()
	return b.startProcess("worker", environ)
}

// StartQueue is like StartProcess, but the worker serves one queue.
func (b *Bundle) StartQueue(queue string) *Process {
	b.T.Helper()
	return b.startProcess("worker", nil, "--queues", queue)
}

// StartGateway starts `cairn gateway` as a separate process, which serves the accounts of the bundle's configuration.
func (b *Bundle) StartGateway() *Process {
	b.T.Helper()
	return b.startProcess("starter", nil, "gateway", "--listen", "127.0.0.1:0")
}

// StartServe starts `cairn serve` as a separate process, which listens on an address such as 127.0.0.1:8080.
func (b *Bundle) StartServe(address string) *Process {
	b.T.Helper()
	return b.startProcess("starter", nil, "serve", "--listen", address)
}

func (b *Bundle) startProcess(program string, environ []string, arguments ...string) *Process {
	b.T.Helper()
	cmd := exec.Command(devtest.Program(b.T, program), arguments...)
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

// Kill kills the process without a chance to clean up.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // the process may have ended
	_ = p.cmd.Wait()
}
