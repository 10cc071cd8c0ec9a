package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"cairn/internal/domain/fault"
)

// systemCache is root's cache. Its programs are available to all users.
var systemCache = "/var/cache/cairn"

// marker is the file that is written last into a folder of the cache. A folder without it is
// incomplete and is ignored.
const marker = ".complete"

// Cache returns the folder of downloaded and built programs. It is CAIRN_CACHE if set. Otherwise
// root uses /var/cache/cairn, which the account that runs PostgreSQL can read, and other users use
// their own cache folder. The folder may not exist yet.
func Cache() (string, error) {
	if folder := os.Getenv("CAIRN_CACHE"); folder != "" {
		return filepath.Abs(folder)
	}
	if os.Geteuid() == 0 {
		return systemCache, nil
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fault.Wrap(err, fault.Misconfigured, "find the cache folder", "set HOME or CAIRN_CACHE")
	}
	return filepath.Join(folder, "cairn"), nil
}

// cached returns the folder of a complete program in one of the readable caches.
func cached(name string) (string, bool) {
	folders := []string{systemCache}
	if own, err := Cache(); err == nil {
		folders = []string{own, systemCache}
	}
	for _, folder := range folders {
		if path := filepath.Join(folder, name); exists(filepath.Join(path, marker)) {
			return path, true
		}
	}
	return "", false
}

// BuildOnce builds something into the cache once. If several processes call it, one of them builds. A
// folder under its final name is always complete.
func BuildOnce(ctx context.Context, name string, build func(folder string) error) (string, error) {
	return buildOnce(ctx, name, newJournal(nil), build)
}

// buildOnce is BuildOnce with a journal that reports the wait for one that builds already.
func buildOnce(ctx context.Context, name string, log *journal, build func(folder string) error) (string, error) {
	if path, ok := cached(name); ok {
		return path, nil
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fault.Wrap(err, fault.Misconfigured, "create the cache folder",
			"set CAIRN_CACHE to a folder that can be written")
	}
	lock, err := tryLock(filepath.Join(cache, name+".lock"), syscall.LOCK_EX)
	if errors.Is(err, errLocked) {
		done := log.task("waiting for "+name, "it is already being prepared")
		lock, err = lockFile(ctx, filepath.Join(cache, name+".lock"))
		done(err)
	}
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if path, ok := cached(name); ok {
		return path, nil // the process that held the lock has built it
	}
	path := filepath.Join(cache, name)
	leftovers, _ := filepath.Glob(path + ".part-*")
	for _, folder := range append(leftovers, path) {
		if err := os.RemoveAll(folder); err != nil {
			return "", fmt.Errorf("remove an incomplete %s: %w", name, err)
		}
	}
	part, err := os.MkdirTemp(cache, name+".part-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	defer os.RemoveAll(part)
	if err := os.Chmod(part, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	if err := build(part); err != nil {
		return "", err
	}
	if err := os.Rename(part, path); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(path, marker), nil, 0o644); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}
