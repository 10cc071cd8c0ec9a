package sandbox

import "golang.org/x/sys/unix"

// otherABI is above all numbers, because this kernel has one ABI.
const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	otherABI  = 0x4000_0000
)

// oldCalls are those of outside that other kernels do not have.
var oldCalls []uint32
