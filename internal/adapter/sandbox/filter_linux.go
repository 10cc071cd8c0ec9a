//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that no script needs and that have effects outside of a process:
// namespaces, mounts, kernels, other processes, memory that no limit covers.
var refused = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_ACCT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
	unix.SYS_REQUEST_KEY,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_PERSONALITY,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME,
}

// newNamespaces are the flags of clone that create namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data.
const (
	dataNumber   = 0
	dataArch     = 4
	dataArgument = 16 // low half of the first argument; both architectures are little-endian
	dataSecond   = 24
	dataThird    = 32
)

// What every filter begins with, and its answers.
const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	least  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyOf  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer = unix.BPF_RET | unix.BPF_K
	deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// refusing returns the beginning of a filter, which rejects calls. It leaves the number of the call loaded.
// elastic/go-seccomp-bpf would leave two holes here: it answers calls of another architecture (int 0x80) as calls that
// no rule names, and it compares 64 bits of an argument of which the kernel reads 32.
func refusing(calls []uint32) []unix.SockFilter {
	p := []unix.SockFilter{
		{Code: load, K: dataArch}, {Code: equal, K: auditArch, Jt: 1}, {Code: answer, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: dataNumber}, {Code: least, K: otherABI, Jf: 1}, {Code: answer, K: absent},
		// The flags of clone3 are in memory, where the filter cannot read them. Libraries then fall
		// back to clone.
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, {Code: answer, K: absent},
	}
	for _, call := range calls {
		p = append(p, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answer, K: deny})
	}
	return p
}

// filter installs a system call filter that rejects those calls, larger buffers of sockets, and all
// sockets but local ones.
// Some sockets, such as those to a virtual machine's host, do not belong to a namespace.
func filter() error {
	p := refusing(refused)
	// Buffers of sockets keep their size: socketMemory counts on it.
	p = append(p,
		unix.SockFilter{Code: equal, K: unix.SYS_SETSOCKOPT, Jf: 7}, unix.SockFilter{Code: load, K: dataSecond},
		unix.SockFilter{Code: equal, K: unix.SOL_SOCKET, Jf: 3}, unix.SockFilter{Code: load, K: dataThird},
		unix.SockFilter{Code: equal, K: unix.SO_SNDBUF, Jt: 2},
		unix.SockFilter{Code: equal, K: unix.SO_SNDBUFFORCE, Jt: 1},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: answer, K: deny})
	p = append(p,
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 3}, unix.SockFilter{Code: load, K: dataArgument},
		unix.SockFilter{Code: anyOf, K: newNamespaces, Jt: 5}, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jf: 2}, unix.SockFilter{Code: load, K: dataArgument},
		unix.SockFilter{Code: equal, K: unix.AF_UNIX, Jf: 1},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: answer, K: deny})
	program := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
