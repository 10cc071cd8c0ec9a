package filetext

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// executable is the program of this process, also if its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// limit sets the limits of this process that the kernel enforces.
func limit() error {
	for _, r := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_CPU, maxCPU}, {unix.RLIMIT_DATA, maxData}} {
		if err := unix.Setrlimit(r.what, &unix.Rlimit{Cur: r.most, Max: r.most}); err != nil {
			return fmt.Errorf("set limit %d: %w", r.what, err)
		}
	}
	return nil
}

// watch does nothing: the kernel limits the memory of the process.
func watch(*os.Process) (stop func()) { return func() {} }
