package sandbox

import "golang.org/x/sys/unix"

// otherABI is the first system call number of a second ABI of this kernel (x32), which the filter
// does not cover.
const (
	auditArch = unix.AUDIT_ARCH_X86_64
	otherABI  = 0x4000_0000
)
