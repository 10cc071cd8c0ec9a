package ground

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Gateway is a running gateway with its worker.
type Gateway struct {
	URL string
	Key string // with all scopes

	Program string   // path of cairn
	Home    string   // its folder
	Environ []string // its variables

	cmd *exec.Cmd
}

// StartGateway starts the program cairn in a folder, with further variables, and creates a key.
func StartGateway(ctx context.Context, program, home string, log io.Writer, environ ...string) (*Gateway, error) {
	s := &Gateway{Program: program, Home: home}
	for _, one := range os.Environ() { // removes all servers, models and settings of the user
		name, _, _ := strings.Cut(one, "=")
		if own := []string{"DATABASE_URL", "PUBLIC_BASE_URL", "MEM0_COMPAT"}; !strings.HasPrefix(name, "CAIRN_") &&
			!strings.HasPrefix(name, "TEMPORAL_") && !strings.HasPrefix(name, "OPENAI_") &&
			!strings.Contains(strings.Join(own, " "), name) {
			s.Environ = append(s.Environ, one)
		}
	}
	s.Environ = append(s.Environ, "CAIRN_HOME="+filepath.Join(home, ".cairn"), "CAIRN_CONFIG="+os.DevNull)
	s.Environ = append(s.Environ, environ...)
	s.cmd = s.Command(ctx, "serve", "--listen", "127.0.0.1:0")
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = time.Minute
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	lines := bufio.NewScanner(out)
	for s.URL == "" && lines.Scan() {
		if rest, ready := strings.CutPrefix(lines.Text(), "ready: "); ready {
			s.URL, _, _ = strings.Cut(rest, " ")
		}
	}
	if s.URL == "" {
		return nil, errors.Join(errors.New("the gateway exited before it was ready"), s.Stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var made struct{ Key string }
	if err := s.Run(ctx, &made, "keys", "create", "--name", "clients", "--scopes", "read,write,admin"); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.Key = made.Key
	return s, nil
}

// Command returns a command of cairn with the gateway's configuration.
func (s *Gateway) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.Program, args...)
	c.Dir, c.Env = s.Home, s.Environ
	return c
}

// Run runs a cairn command and decodes its JSON output.
func (s *Gateway) Run(ctx context.Context, into any, args ...string) error {
	c := s.Command(ctx, append(args, "-o", "json")...)
	var trouble strings.Builder
	c.Stderr = &trouble
	out, err := c.Output()
	if err == nil && into != nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		return fmt.Errorf("cairn %s: %w\n%s", strings.Join(args, " "), err, trouble.String())
	}
	return nil
}

// Stop stops the gateway and its stack.
func (s *Gateway) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have exited
	_ = s.cmd.Wait()                          // reports the signal
	return nil
}

// CPU returns the user and system CPU time of the gateway and its worker so far. It requires /proc.
func (s *Gateway) CPU() (time.Duration, error) { return CPUOf(s.cmd.Process.Pid) }

// Kill kills the gateway without notice. Its stack ends with it.
func (s *Gateway) Kill() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // reports the kill
	return err
}
