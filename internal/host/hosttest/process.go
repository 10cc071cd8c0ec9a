package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Process is a worker in a process of its own, which can be killed.
type Process struct {
	t   testing.TB
	cmd *exec.Cmd
}

// workerBinary builds cmd worker once per test process.
var workerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-worker")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "worker")
	out, err := exec.Command("go", "build", "-o", path, "cairn/worker").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the worker: %w\n%s", err, out)
	}
	return path, nil
})

// StartProcess runs the worker as a process of its own with the bundle's
// configuration; environ overrides it. It ends with the test.
func (b *Bundle) StartProcess(environ ...string) *Process {
	b.T.Helper()
	path, err := workerBinary()
	Must(b.T, err)
	cmd := exec.Command(path)
	for _, s := range b.Config.Settings() {
		cmd.Env = append(cmd.Env, s.Name+"="+s.Value)
	}
	c := b.Config
	cmd.Env = append(cmd.Env, "DATABASE_URL="+c.DatabaseURL, "OPENAI_API_KEY="+c.APIKey, "CAIRN_EMBEDDING_API_KEY="+c.EmbeddingAPIKey, "HOME="+b.T.TempDir(), "CAIRN_CONFIG=/dev/null")
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stdout, cmd.Stderr = b.T.Output(), b.T.Output()
	Must(b.T, cmd.Start())
	p := &Process{t: b.T, cmd: cmd}
	b.T.Cleanup(p.Kill)
	return p
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	_ = p.cmd.Wait()
}
