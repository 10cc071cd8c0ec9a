//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cairn/internal/adapter/sandbox"
)

// Attempts to hold memory in the kernel that no process shows as its own.
func init() {
	attempts["pairs"] = func([]string) {
		held := 0
		for range 250 {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				break
			}
			escaped(unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20), "made a buffer larger")
			escaped(unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4<<20), "forced a buffer larger")
			escaped(widened(pair[0]), "made a buffer larger by a wider level")
			held += fill(pair[0]) + fill(pair[1])
		}
		hold(held)
	}
	attempts["backlog"] = func([]string) {
		held := 0
		listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		address := &unix.SockaddrUnix{Name: "@" + fmt.Sprint(os.Getpid())}
		if err != nil || unix.Bind(listener, address) != nil || unix.Listen(listener, 4096) != nil {
			fmt.Println("no listener", err)
			return
		}
		for range 400 { // the connections are never accepted, and their other ends are closed
			client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil || unix.Connect(client, address) != nil {
				break
			}
			held += fill(client)
			_ = unix.Close(client)
		}
		hold(held)
	}
	attempts["datagrams"] = func([]string) {
		held := 0
		for n := range 60 {
			receiver, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			address := &unix.SockaddrUnix{Name: fmt.Sprintf("@%d/%d", os.Getpid(), n)}
			if err != nil || unix.Bind(receiver, address) != nil {
				break
			}
			for range 11 {
				sender, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
				if err != nil {
					break
				}
				if unix.Sendto(sender, make([]byte, 200_000), 0, address) == nil {
					held += 200_000
				}
				_ = unix.Close(sender)
			}
		}
		hold(held)
	}
	attempts["talk"] = func([]string) {
		listener, err := net.Listen("unix", "/tmp/talk")
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			if c, err := listener.Accept(); err == nil {
				fmt.Fprintln(c, "hello")
				c.Close()
			}
		}()
		c, err := net.Dial("unix", "/tmp/talk")
		if err != nil {
			fmt.Println(err)
			return
		}
		var word string
		fmt.Fscan(c, &word)
		fmt.Println("heard", word)
	}
}

// fill writes until a socket takes no more, and returns how much that was.
func fill(socket int) (sum int) {
	for block := make([]byte, 64<<10); ; {
		n, err := unix.Write(socket, block)
		if err != nil {
			return sum
		}
		sum += n
	}
}

// widened enlarges a buffer with a level that has a bit in its upper half, which the kernel ignores.
func widened(socket int) error {
	size := int32(4 << 20)
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(socket), 1<<32|unix.SOL_SOCKET, unix.SO_SNDBUF,
		uintptr(unsafe.Pointer(&size)), unsafe.Sizeof(size), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// hold keeps the sockets open for long enough that a watcher sees them.
func hold(bytes int) {
	time.Sleep(2 * time.Second)
	fmt.Println("ESCAPED:", bytes, "bytes are in sockets")
}

func TestMemoryOfSocketsIsLimited(t *testing.T) {
	b := setup(t)
	limits := small()
	limits.Together, limits.Open, limits.Wall = 64<<20, 1024, 20*time.Second
	for _, attack := range []string{"pairs", "backlog", "datagrams"} {
		if out := b.attemptWithin(limits, attack); out.Stopped != sandbox.StopMemory {
			t.Errorf("%s: %+v", attack, out)
		}
	}
	limits.Together = 512 << 20 // a program with the race detector needs more than 64 MiB
	if out := b.attemptWithin(limits, "talk"); out.Stopped != "" || !strings.Contains(out.Stdout, "heard hello") {
		t.Errorf("two local sockets: %+v", out)
	}
}
