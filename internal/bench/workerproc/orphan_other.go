//go:build !linux

package workerproc

import "syscall"

// dieWithUs can arrange nothing here: Stop and Kill must be called.
func dieWithUs() *syscall.SysProcAttr { return nil }
