package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked reports that another process holds a lock.
var errLocked = errors.New("locked by another process")

// lockPoll is the interval at which a held lock is tried again.
const lockPoll = 50 * time.Millisecond

// tryLock takes a lock on a file. The lock ends with this process, whatever ends it. Closing the
// file releases it. how is syscall.LOCK_EX or syscall.LOCK_SH.
func tryLock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, os.ErrPermission) {
		file, err = os.Open(path) // another account's file: read access is enough to lock it
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// lockFile waits for an exclusive lock.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := tryLock(path, syscall.LOCK_EX)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}
