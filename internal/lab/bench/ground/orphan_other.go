//go:build !linux

package ground

import "syscall"

// dieWithUs has no effect on this system: call Stop or Kill.
func dieWithUs() *syscall.SysProcAttr { return nil }
