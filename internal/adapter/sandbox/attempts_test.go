//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/domain/fault"
)

// attempts run inside of sandboxes. An attempt that succeeds although it must not prints a line
// that begins with ESCAPED.
var attempts = map[string]func(args []string){
	"environment": func([]string) {
		for _, entry := range os.Environ() {
			fmt.Println(entry)
		}
	},
	"network":   network,
	"sealed":    sealed,
	"processes": processes,
	"outside":   outside,
	"rights":    rights,
	"memory": func([]string) {
		var kept [][]byte
		for range 64 {
			block := make([]byte, 16<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			kept = append(kept, block)
		}
		fmt.Println("ESCAPED:", len(kept), "blocks of memory")
	},
	"daemon": daemon,
	"worker": func(args []string) { // not in a sandbox: it has one
		file := sandbox.File{Path: args[1], Content: []byte("(setsid sleep 60 &); while :; do sleep 1; done")}
		out, err := sandbox.Run(context.Background(),
			sandbox.Job{Files: []sandbox.File{file}, Argv: []string{"sh", file.Path, file.Path},
				Limits: sandbox.Limits{Wall: time.Minute, CPU: time.Minute, Memory: 1 << 30, Together: 1 << 30,
					Processes: 10, File: 1 << 20, Disk: 1 << 20, Open: 64, Output: 1 << 10}})
		fmt.Printf("it ended: %+v %v\n", out, err)
	},
	"refused": refusedHere,
}

func escaped(err error, format string, args ...any) {
	if err == nil {
		fmt.Printf("ESCAPED: "+format+"\n", args...)
	}
}

// network tries to reach a TCP address, an abstract and a bound unix socket, a
// name server, and the host of a virtual machine.
func network(args []string) {
	for _, target := range []struct{ network, address string }{{"tcp", args[1]}, {"unix", "@" + args[2]},
		{"unix", args[3]}, {"udp", "1.1.1.1:53"}, {"tcp", "1.1.1.1:53"}} {
		c, err := net.DialTimeout(target.network, target.address, 300*time.Millisecond)
		escaped(err, "reached %s %s", target.network, target.address)
		if c != nil {
			c.Close()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, "example.com")
	escaped(err, "resolved a name")
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_VSOCK, unix.AF_NETLINK, unix.AF_PACKET,
		unix.AF_ALG} {
		_, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		escaped(err, "opened a socket of family %d", family)
	}
}

// processes tries to see and to reach other processes.
func processes(args []string) {
	for _, path := range []string{"/proc/1/environ", "/proc/self/environ", "/proc/" + args[1] + "/environ",
		"/proc/" + args[1] + "/cmdline", "/sys/kernel"} {
		_, err := os.Stat(path)
		escaped(err, "%s is there", path)
	}
	escaped(unix.Mount("proc", "/tmp", "proc", 0, ""), "mounted a /proc")
	escaped(unix.PtraceAttach(1), "traced a process")
	if os.Getpid() != 1 {
		fmt.Println("ESCAPED: into another namespace of processes")
	}
	var worker int
	_, _ = fmt.Sscan(args[1], &worker)
	escaped(syscall.Kill(worker, 0), "reached process %d", worker)
}

// outside tries to write, and to read hidden files.
func outside(args []string) {
	for _, folder := range []string{"/", "/usr", "/usr/bin", "/etc", "/dev", "/..", "/work/../.."} {
		err := os.WriteFile(filepath.Join(folder, args[1]), []byte("x"), 0o644)
		escaped(err, "wrote into %s", folder)
	}
	_ = os.Remove("link")
	for _, target := range []string{args[2], "/etc/passwd", "/etc/shadow", "/proc/self/root" + args[2],
		"../../../../../.." + args[2]} {
		if err := os.Symlink(target, "link"); err != nil {
			fmt.Println("no link:", err)
		}
		_, err := os.ReadFile("link")
		escaped(err, "read %s by a link", target)
		_ = os.Remove("link")
	}
	_, err := os.ReadDir("/home")
	escaped(err, "listed /home")
	_, err = os.ReadDir("/root")
	escaped(err, "listed /root")
}

// rights tries to regain rights.
func rights([]string) {
	escaped(unix.Unshare(unix.CLONE_NEWUSER), "made a user namespace")
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	escaped(cmd.Run(), "started a process in a user namespace")
	escaped(unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""), "mounted a file system")
	escaped(unix.Chroot("/tmp"), "changed the root")
	if os.Getuid() != 0 { // an ordinary user's sandbox has one user, who is called 0
		escaped(unix.Setuid(0), "became root")
	}
	escaped(unix.Setuid(1), "became another user")
	escaped(unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))), "made a device")
	escaped(unix.Sethostname([]byte("x")), "named the machine")
	fd, err := unix.MemfdCreate("x", 0)
	escaped(err, "made a file of memory %d", fd)
	escaped(unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}), "raised a limit")
}

// daemon leaves a process with its own session and without a parent.
func daemon(args []string) {
	if len(args) > 2 && args[2] == "on" {
		for {
			time.Sleep(10 * time.Millisecond)
		}
	}
	cmd := exec.Command("sh", "-c", os.Args[0]+` attempt daemon "$1" on & exit 0`, "sh", args[1])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	fmt.Println("left behind:", cmd.Run())
}

// refusedHere runs in a namespace whose users cannot create another one.
func refusedHere(args []string) {
	fmt.Println("forbidden:", os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o644))
	_, err := sandbox.Run(context.Background(),
		sandbox.Job{Argv: []string{"touch", args[1]}, Limits: sandbox.DefaultLimits()})
	var f *fault.Error
	if errors.As(err, &f) && strings.Contains(f.Hint, "run the worker on Linux") {
		fmt.Println("refused as", f.Code)
	}
}
