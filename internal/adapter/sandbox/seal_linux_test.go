//go:build amd64 || arm64

package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/testkit"
)

// sealed tries to reach something in a sealed process, from many threads.
func sealed([]string) {
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sandbox.Seal(); err != nil {
		fmt.Println(err)
		return
	}
	tries := map[string]func() error{
		"connect": func() error { _, err := net.Dial("tcp", listening.Addr().String()); return err },
		"unix":    func() error { _, err := net.Listen("unix", "/tmp/cairn-sealed"); return err },
		"read":    func() error { _, err := os.ReadFile("/etc/passwd"); return err },
		"write":   func() error { return os.WriteFile("/tmp/cairn-sealed", nil, 0o600) },
		"remove":  func() error { return os.Remove("/tmp/cairn-sealed") },
		"run":     func() error { return exec.Command("/bin/true").Run() },
		"pair":    func() error { _, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); return err },
		"kill":    func() error { return syscall.Kill(os.Getppid(), 0) },
	}
	var all sync.WaitGroup
	for range 20 {
		for name, try := range tries {
			all.Go(func() {
				if err := try(); !errors.Is(err, syscall.EPERM) && !errors.Is(err, fs.ErrPermission) {
					fmt.Printf("%s: %v\n", name, err)
				}
			})
		}
	}
	all.Wait()
}

func TestASealedProcessReachesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testkit.Must(t, err)
	out, err := exec.Command(self, "attempt", "sealed").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != tried {
		t.Errorf("%v: %s", err, out)
	}
}
