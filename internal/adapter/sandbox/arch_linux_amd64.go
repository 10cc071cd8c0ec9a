package sandbox

import "golang.org/x/sys/unix"

// otherABI is where the numbers of another way to call the same kernel begin
// (x32), which the filter does not know.
const (
	auditArch = unix.AUDIT_ARCH_X86_64
	otherABI  = 0x4000_0000
)
