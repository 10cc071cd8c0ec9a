package sandbox

import "golang.org/x/sys/unix"

// otherABI is the first system call number of a second ABI of this kernel (x32), which the filter
// does not cover.
const (
	auditArch = unix.AUDIT_ARCH_X86_64
	otherABI  = 0x4000_0000
)

// oldCalls are those of outside that other kernels do not have.
var oldCalls = []uint32{unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_RENAMEAT,
	unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_CHMOD, unix.SYS_CHOWN,
	unix.SYS_FORK, unix.SYS_VFORK}
