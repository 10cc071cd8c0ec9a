package devstack

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// logLimit is the size in bytes from which a log is renamed at the next start.
const logLimit = 8 << 20

// openLog opens a server's log for appending. A log over logLimit is renamed first.
func openLog(path string, who account) (io.WriteCloser, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		_ = os.Rename(path, path+".old")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	if who.dropped {
		_ = file.Chown(who.uid, who.gid) // best effort, so that the account can read its log
	}
	return file, nil
}
