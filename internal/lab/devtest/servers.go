package devtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cairn/internal/lab/devtest/testrun"
)

// attach returns the run's servers. The first process starts them; the others wait for it.
func attach(ctx context.Context, run testrun.Order) (*testrun.Servers, error) {
	if err := ensureFolder(run.Folder); err != nil {
		return nil, err
	}
	lock, err := waitLock(ctx, filepath.Join(run.Folder, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if servers, err := run.Servers(); err == nil {
		return servers, nil
	}
	return startServers(ctx, run.Folder, run)
}

// ensureFolder creates the run's folder. It fails if another account owns the folder.
func ensureFolder(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create the folder of the test run: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("create the folder of the test run: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || (known && int(owner.Uid) != os.Geteuid()) {
		return fmt.Errorf("create the folder of the test run: another account owns %s", folder)
	}
	return nil
}

// waitLock waits for an exclusive lock. The lock ends with this process.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the test run: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for another process to start the test servers: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startServers runs the program testservers, which is built in the folder programs, and waits until
// its servers respond. `go test` waits until all copies of its output are closed, so the program
// does not inherit the output. It reports through a pipe that it closes.
func startServers(ctx context.Context, programs string, order testrun.Order) (*testrun.Servers, error) {
	program, err := build(ctx, programs, "internal/lab/devtest/testservers")
	if err != nil {
		return nil, fmt.Errorf("build the program of the test servers: %w", err)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("start the test servers: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the test servers: %w", err)
	}
	defer reader.Close()
	holder := exec.Command(program, string(text))
	holder.Dir = order.Folder
	holder.ExtraFiles = []*os.File{writer} // becomes descriptor 3
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = holder.Start()
	writer.Close()
	if err != nil {
		return nil, fmt.Errorf("start the test servers: %w", err)
	}
	go holder.Wait() // prevents a zombie process
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		if reason, failed := strings.CutPrefix(lines.Text(), testrun.Failure); failed {
			return nil, errors.New(reason)
		}
		fmt.Fprintln(os.Stderr, "devtest:", lines.Text())
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the report of the test servers: %w", err)
	}
	return order.Servers()
}
