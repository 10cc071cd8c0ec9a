package clients

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

// server is `cairn serve` with its own stack.
type server struct {
	program string
	home    string
	environ []string
	url     string
	key     string
	cmd     *exec.Cmd
}

// serve starts the server in a folder and creates an admin key.
func serve(ctx context.Context, program, home string, log io.Writer) (*server, error) {
	s := &server{program: program, home: home}
	for _, one := range os.Environ() { // removes all servers, models and settings of the user
		name, _, _ := strings.Cut(one, "=")
		if own := []string{"DATABASE_URL", "PUBLIC_BASE_URL", "MEM0_COMPAT"}; !strings.HasPrefix(name, "CAIRN_") &&
			!strings.HasPrefix(name, "TEMPORAL_") && !strings.HasPrefix(name, "OPENAI_") &&
			!strings.Contains(strings.Join(own, " "), name) {
			s.environ = append(s.environ, one)
		}
	}
	s.environ = append(s.environ, "CAIRN_HOME="+filepath.Join(home, ".cairn"), "CAIRN_CONFIG="+os.DevNull)
	s.cmd = s.command(ctx, "serve", "--listen", "127.0.0.1:0")
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
	for s.url == "" && lines.Scan() {
		if rest, ready := strings.CutPrefix(lines.Text(), "ready: "); ready {
			s.url, _, _ = strings.Cut(rest, " ")
		}
	}
	if s.url == "" {
		return nil, errors.Join(errors.New("the gateway exited before it was ready"), s.stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var made struct{ Key string }
	if err := s.run(ctx, &made, "keys", "create", "--name", "clients", "--scopes", "read,write,admin"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.key = made.Key
	return s, nil
}

func (s *server) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.program, args...)
	c.Dir, c.Env = s.home, s.environ
	return c
}

// run runs a cairn command and decodes its JSON output.
func (s *server) run(ctx context.Context, into any, args ...string) error {
	c := s.command(ctx, append(args, "-o", "json")...)
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

// stop stops the gateway and its stack.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have exited
	_ = s.cmd.Wait()                          // reports the signal
	return nil
}
