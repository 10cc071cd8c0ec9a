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

	"cairn/internal/adapter/devstack"
)

// holderVariable turns a copy of a test program into the holder of the servers. Its value is the
// testRun as JSON.
const holderVariable = "CAIRN_DEVTEST_HOLDER"

// ownerPoll is the interval at which the holder checks whether its `go test` is still running.
const ownerPoll = 500 * time.Millisecond

// failure is the prefix of the holder's last line if the servers did not start.
const failure = "failed: "

// The holder starts in init, because this package does not control main of a test program.
func init() {
	text := os.Getenv(holderVariable)
	if text == "" {
		return
	}
	os.Unsetenv(holderVariable)
	os.Exit(hold(text))
}

// attach returns the addresses of the run's servers. The first process starts the holder; the
// others wait for it.
func attach(ctx context.Context, run testRun) (*Addresses, error) {
	if err := ensureFolder(run.Folder); err != nil {
		return nil, err
	}
	lock, err := waitLock(ctx, filepath.Join(run.Folder, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if addresses, err := readAddresses(run.Folder); err == nil {
		if _, start, ok := identify(addresses.PID); ok && start == addresses.Start {
			return &addresses.Addresses, nil
		}
	}
	if err := startHolder(run); err != nil {
		return nil, err
	}
	addresses, err := readAddresses(run.Folder)
	if err != nil {
		return nil, err
	}
	return &addresses.Addresses, nil
}

// held is the record that the holder publishes.
type held struct {
	Addresses
	Start string `json:"start"` // start time of the holder, whose process number is Addresses.PID
}

func readAddresses(folder string) (held, error) {
	var published held
	text, err := os.ReadFile(filepath.Join(folder, "servers.json"))
	if err != nil {
		return published, fmt.Errorf("read the test servers' addresses: %w", err)
	}
	if err := json.Unmarshal(text, &published); err != nil {
		return published, fmt.Errorf("read the test servers' addresses: %w", err)
	}
	return published, nil
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

// startHolder runs a copy of this program as the holder and waits until its servers respond. `go
// test` waits until all copies of its output are closed, so the holder does not inherit the output.
// It reports through a pipe that it closes.
func startHolder(run testRun) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test program: %w", err)
	}
	order, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("start the holder: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the holder: %w", err)
	}
	defer reader.Close()
	holder := exec.Command(program)
	holder.Env = append(os.Environ(), holderVariable+"="+string(order))
	holder.Dir = run.Folder
	holder.ExtraFiles = []*os.File{writer} // becomes descriptor 3
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = holder.Start()
	writer.Close()
	if err != nil {
		return fmt.Errorf("start the holder: %w", err)
	}
	go holder.Wait() // prevents a zombie process
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		if reason, failed := strings.CutPrefix(lines.Text(), failure); failed {
			return errors.New(reason)
		}
		fmt.Fprintln(os.Stderr, "devtest:", lines.Text())
	}
	return lines.Err()
}

// hold is the main function of the holder. It returns the exit code.
func hold(order string) int {
	syscall.CloseOnExec(3) // otherwise the servers would keep it open
	report := os.NewFile(3, "report")
	stack, err := begin(order, report)
	if err != nil {
		fmt.Fprintln(report, failure+strings.ReplaceAll(err.Error(), "\n", " · "))
		return 1
	}
	report.Close()
	var run testRun
	_ = json.Unmarshal([]byte(order), &run) // begin has decoded it before
	for run.Owner.alive() {
		time.Sleep(ownerPoll)
	}
	dropTemplates(run)
	err = stack.Close()
	_ = os.RemoveAll(run.Folder)
	if err != nil {
		return 1
	}
	return 0
}

// begin starts the servers and publishes their addresses.
func begin(order string, report *os.File) (*devstack.Stack, error) {
	var run testRun
	if err := json.Unmarshal([]byte(order), &run); err != nil {
		return nil, fmt.Errorf("read the holder's order: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	go func() { // the caller stopped waiting
		for run.Owner.alive() && ctx.Err() == nil {
			time.Sleep(ownerPoll)
		}
		cancel()
	}()
	stack, err := devstack.Start(ctx, devstack.Options{Log: report, SearchAttributes: SearchAttributes})
	if err != nil {
		return nil, err
	}
	published := held{Addresses: Addresses{DatabaseURL: maintenance(stack.DatabaseURL()),
		TemporalAddress:   stack.TemporalAddress(),
		TemporalNamespace: stack.TemporalNamespace(), TemporalUI: stack.TemporalUI(), PID: os.Getpid()}}
	_, published.Start, _ = identify(os.Getpid())
	text, err := json.Marshal(published)
	if err == nil {
		err = os.WriteFile(filepath.Join(run.Folder, "servers.json"), text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("publish the test servers: %w", err), stack.Close())
	}
	return stack, nil
}
