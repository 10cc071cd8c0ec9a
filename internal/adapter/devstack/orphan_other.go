//go:build !linux

package devstack

import "syscall"

// ended has no effect on this system: call Close.
func ended(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }
