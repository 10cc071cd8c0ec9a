//go:build !linux

package filetext

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func executable() (string, error) { return os.Executable() }

// limit limits the processor time. The kernel does not limit memory: the parent watches it.
func limit() error {
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: maxCPU, Max: maxCPU})
}

// pollInterval is the interval at which the memory of the process is looked at.
const pollInterval = 100 * time.Millisecond

// watch kills a process that has more memory than it may.
func watch(p *os.Process) (stop func()) {
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			raw, _ := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(p.Pid)).Output() // it may have ended
			if size, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && size<<10 > maxData {
				_ = p.Kill()
				return
			}
		}
	}()
	return func() { close(ended) }
}
