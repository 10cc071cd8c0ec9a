package ground

import "syscall"

// dieWithUs makes the kernel kill the worker when this process ends.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
