package devstack

import "syscall"

// ended makes the kernel kill a program when this process ends.
func ended(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGKILL
	return a
}
