//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// confine permanently drops every right that a command does not need.
func confine(o order) error {
	if err := closeInput(); err != nil {
		return fmt.Errorf("close the input: %w", err)
	}
	for c := 0; ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err == unix.EINVAL { // no more capabilities
			break
		} else if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	// Neither a change of user nor a program can restore capabilities: SECBIT_NOROOT,
	// NO_SETUID_FIXUP, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE, each locked.
	const locked = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7
	if o.User != 0 {
		if err := unix.Setgroups(nil); err != nil {
			return fmt.Errorf("leave the groups: %w", err)
		}
		if err := unix.Setresgid(o.User, o.User, o.User); err != nil {
			return fmt.Errorf("change the group: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, locked, 0, 0, 0); err != nil {
		return fmt.Errorf("lock capabilities: %w", err)
	}
	if o.User != 0 {
		if err := unix.Setresuid(o.User, o.User, o.User); err != nil {
			return fmt.Errorf("change the user: %w", err)
		}
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	if err := filter(); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// closeInput replaces standard input by an empty one.
func closeInput() error {
	null, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup3(int(null.Fd()), 0, 0)
}

// dieWithParent repeats a setting that the change of user has reset. It fails if the parent died in
// between; then the status is not read any more.
func dieWithParent() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent death signal: %w", err)
	}
	fds := []unix.PollFd{{Fd: statusFD, Events: unix.POLLOUT}}
	if _, err := unix.Poll(fds, 0); err == nil && fds[0].Revents&unix.POLLERR != 0 {
		os.Exit(1)
	}
	return nil
}
