//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// usualBuffer is the send buffer of a new socket in bytes, if the kernel does not say.
const usualBuffer = 212992

// Multiples of the send buffer that the kernel can hold for one receiving socket. A sender may exceed
// its buffer with its last message. Messages of different senders wait at a datagram socket, up to
// net.unix.max_dgram_qlen (10) and one more.
const (
	streamBuffers   = 2
	datagramBuffers = 12
)

// socketBuffer returns the send buffer of a new socket. The filter does not let a command change it.
func socketBuffer() int64 {
	raw, _ := os.ReadFile("/proc/sys/net/core/wmem_default")
	if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 {
		return n
	}
	return usualBuffer
}

// socketMemory returns the most memory, in bytes, that the kernel can hold for the sockets in the network
// namespace of a process. The list of the namespace also has sockets that no process has open:
// connections that were not accepted yet, and sockets that are being sent.
func socketMemory(pid int, buffer int64) (sum int64) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	for line := range bytes.Lines(raw) {
		f := bytes.Fields(line) // Num RefCount Protocol Flags Type …
		switch {
		case len(f) < 6 || string(f[0]) == "Num":
		case string(f[4]) == "0002":
			sum += datagramBuffers * buffer
		default:
			sum += streamBuffers * buffer
		}
	}
	return sum
}
