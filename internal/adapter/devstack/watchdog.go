package devstack

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed watchdog.sh
var watchdogScript string

// command is a program to run under the watchdog.
type command struct {
	name     string   // for messages: "PostgreSQL"
	args     []string // program and arguments
	env      []string // the whole environment
	dir      string   // working folder; the account must have access to it
	account  account  // who runs it
	gentle   string   // signal that asks it to stop: "TERM"
	patience time.Duration
	hard     string    // signal after patience has elapsed: "KILL"
	remove   string    // folder to delete if the parent dies or closes the pipe
	output   io.Writer // standard output and error
	claim    *os.File  // a locked file that stays locked until the program has ended, or nil
}

// guarded is a program that runs under the watchdog.
type guarded struct {
	name   string
	pipe   *os.File      // writing end; closing it stops the program
	exited chan struct{} // closed when the program and its watchdog have ended
	err    error         // result of the program, readable after exited is closed
}

// guard starts c. When c or this process ends, no process or throw-away folder remains.
func guard(c command) (*guarded, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	defer reader.Close()
	tenths := strconv.FormatInt(c.patience.Milliseconds()/100, 10)
	args := append([]string{"-c", watchdogScript, "cairn-watchdog", c.gentle, tenths, c.hard, c.remove}, c.args...)
	shell := exec.Command("/bin/sh", args...)
	shell.Env, shell.Dir = c.env, c.dir
	shell.ExtraFiles = []*os.File{reader} // becomes descriptor 3
	if c.claim != nil {
		shell.ExtraFiles = append(shell.ExtraFiles, c.claim)
	}
	shell.Stdout, shell.Stderr = c.output, c.output
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.account.credential()}
	shell.WaitDelay = 2 * time.Second
	if err := shell.Start(); err != nil {
		writer.Close()
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	g := &guarded{name: c.name, pipe: writer, exited: make(chan struct{})}
	go func() {
		g.err = shell.Wait()
		close(g.exited)
	}()
	return g, nil
}

// run waits for a guarded program and returns its output. If ctx ends first, the program is
// stopped.
func run(ctx context.Context, c command) (string, error) {
	var output bytes.Buffer
	c.output = &output
	g, err := guard(c)
	if err != nil {
		return "", err
	}
	select {
	case <-g.exited:
		g.pipe.Close()
	case <-ctx.Done():
		g.stop()
		return output.String(), fmt.Errorf("%s: %w", c.name, ctx.Err())
	}
	if g.err != nil {
		return output.String(), fmt.Errorf("%s: %w\n%s", c.name, g.err, tail(output.String(), 2000))
	}
	return output.String(), nil
}

// signal sends a signal to the program: "INT", "QUIT", "KILL" or "HUP".
func (g *guarded) signal(name string) error {
	if _, err := fmt.Fprintln(g.pipe, name); err != nil {
		return fmt.Errorf("signal %s: %w", g.name, err)
	}
	return nil
}

// end sends a signal and waits until the program has ended.
func (g *guarded) end(ctx context.Context, signal string) error {
	if err := g.signal(signal); err != nil && !g.gone() {
		return err
	}
	select {
	case <-g.exited:
		g.pipe.Close()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to end: %w", g.name, ctx.Err())
	}
}

// stop closes the pipe. The watchdog then stops the program, first gently and then hard, and
// removes its throw-away folder.
func (g *guarded) stop() {
	g.pipe.Close()
	<-g.exited
}

func (g *guarded) gone() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// tail returns the last n bytes of text, starting at the beginning of a line.
func tail(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, rest, cut := strings.Cut(text, "\n"); cut {
		return rest
	}
	return text
}
