// Package filetext reads the text of files that users send: plain text, PDF and DOCX. What a file states about its type
// is ignored; its content decides.
//
//	func main() {
//		filetext.Enter() // first: the program is also the process that parses a file
//		…
//	}
//
//	text, err := filetext.Of(ctx, raw)
//
// PDF and DOCX files are parsed by another process of the same program. It has no environment, and on Linux it can
// neither open files nor sockets. Limits of memory, processor time and output end it.
package filetext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"cairn/internal/adapter/sandbox"
)

// ErrUnknown means that the file has another type.
var ErrUnknown = errors.New("only text, PDF and DOCX files can be read")

// Limits of a process that parses a file.
const (
	maxData   = 384 << 20        // bytes of memory that it can write to
	softData  = "256MiB"         // from which it collects garbage more often
	maxCPU    = 10               // seconds of processor time
	maxWall   = 15 * time.Second // after which its parent kills it
	maxOutput = 8 << 20          // bytes
	maxReason = 300              // bytes of an error
	atOnce    = 2                // processes of this kind
)

// Types of files, as net/http detects them.
const (
	typePDF = "application/pdf"
	typeZip = "application/zip"
)

var parsing = semaphore.NewWeighted(atOnce)

// Of returns the text of a file. An error other than that of ctx is the same for each attempt.
func Of(ctx context.Context, raw []byte) (string, error) {
	kind := http.DetectContentType(raw)
	switch {
	case kind == typePDF, kind == typeZip:
		return parsed(ctx, raw)
	case strings.HasPrefix(kind, "text/") && utf8.Valid(raw):
		return cut(string(raw)), nil
	}
	return "", ErrUnknown
}

// childName is the program's name, and childCommand its only argument, as the process that parses a file.
const (
	childName    = "cairn-filetext"
	childCommand = "parse-file"
)

// Exit codes of the process.
const (
	exitText    = 0
	exitFailed  = 1 // the reason is on standard error
	exitUnknown = 3
)

// entered reports that this program can be the process, so that another one never starts itself again.
var entered atomic.Bool

// Enter must be called first in main. If the program was started to parse a file, Enter does it and does not return.
func Enter() {
	entered.Store(true)
	if len(os.Args) == 2 && os.Args[0] == childName && os.Args[1] == childCommand {
		os.Exit(child(os.Stdin, os.Stdout, os.Stderr))
	}
}

// child parses the file of its input.
func child(in io.Reader, out, errs io.Writer) int {
	fail := func(err error) int {
		fmt.Fprintf(errs, "%.*s", maxReason, err.Error())
		return exitFailed
	}
	if err := confine(); err != nil {
		return fail(err)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return fail(err)
	}
	text, err := parse(raw)
	if errors.Is(err, ErrUnknown) {
		return exitUnknown
	}
	if err != nil {
		return fail(err)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fail(err)
	}
	return exitText
}

// parsed returns the text of a file that another process parses.
func parsed(ctx context.Context, raw []byte) (string, error) {
	if !entered.Load() {
		return "", errors.New("this program cannot parse files: its main does not call filetext.Enter")
	}
	if err := parsing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer parsing.Release(1)
	self, err := executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, maxWall)
	defer cancel()
	var reason capped
	text := capped{most: maxOutput, full: cancel}
	reason.most = maxReason
	cmd := exec.CommandContext(limited, self, childCommand)
	cmd.Args[0], cmd.Dir = childName, "/"
	cmd.Env = []string{"GOMEMLIMIT=" + softData, "GOMAXPROCS=1", "GOTRACEBACK=none"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(raw), &text, &reason
	cmd.WaitDelay = time.Second // for pipes that outlive the process
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start a process to read a file: %w", err)
	}
	stop := watch(cmd.Process)
	err = cmd.Wait()
	stop()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case text.over:
		return "", fmt.Errorf("read a file: its text has more than %d bytes", maxOutput)
	case err == nil:
		return text.String(), nil
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitUnknown:
		return "", ErrUnknown
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitFailed:
		return "", fmt.Errorf("read a file: %s", reason.String())
	}
	return "", fmt.Errorf("read a file: its process was stopped at a limit of memory or time: %w", err)
}

// capped keeps the first bytes that are written. The writer of more is stopped.
type capped struct {
	bytes.Buffer
	most int
	over bool
	full func()
}

func (c *capped) Write(p []byte) (int, error) {
	room := min(c.most-c.Len(), len(p))
	c.Buffer.Write(p[:room])
	if room < len(p) && c.full != nil {
		c.over = true
		c.full()
	}
	return len(p), nil
}

// confine limits this process before it reads the file.
func confine() error {
	if err := limit(); err != nil {
		return err
	}
	return sandbox.Seal()
}
