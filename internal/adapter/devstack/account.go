package devstack

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"cairn/internal/domain/fault"
)

// account is the operating system account that runs a server. PostgreSQL refuses to run as root, so
// root lends it another account. Other users run it under their own account.
type account struct {
	name     string
	uid, gid int
	dropped  bool // differs from the account of this process
}

// self is the account of this process.
func self() account {
	return account{name: accountName(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}
}

// postgresAccount chooses the account that runs PostgreSQL. owner is the uid that owns the existing
// data, or -1 if no data exists: a cluster stays with its owner.
func postgresAccount(owner int) (account, error) {
	who := self()
	if who.uid != 0 {
		if who.name == "" {
			return who, fault.New(fault.Misconfigured,
				fmt.Sprintf("uid %d has no account name, and PostgreSQL refuses to run without one", who.uid),
				"run as an account listed in /etc/passwd, or set DATABASE_URL to a running server")
		}
		return who, nil
	}
	candidates := []string{"postgres", "nobody"}
	if owner > 0 {
		candidates = append([]string{accountName(owner)}, candidates...)
	}
	for _, name := range candidates {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(found.Uid)
		gid, _ := strconv.Atoi(found.Gid)
		return account{name: name, uid: uid, gid: gid, dropped: true}, nil
	}
	return who, fault.New(fault.Misconfigured,
		"PostgreSQL refuses to run as root, and neither the account postgres nor nobody exists",
		"create an account (useradd --system postgres), run as an ordinary user, or set DATABASE_URL")
}

// accountName returns the name of a uid, or "" if it is unknown. `id` also asks the directory
// services, which a Go program built without cgo cannot do.
func accountName(uid int) string {
	if found, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return found.Username
	}
	name, err := exec.Command("id", "-un", strconv.Itoa(uid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// credential returns the credential that runs a child process as a lent account, or nil for the own
// account.
func (a account) credential() *syscall.Credential {
	if !a.dropped {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// can reports whether this account passes a check of test(1) for path: "-x" to enter or execute,
// "-w" to write. It runs test as that account, because mode bits miss access control lists and
// closed parent folders.
func (a account) can(test, path string) bool {
	probe := exec.Command("/bin/sh", "-c", `test "$1" "$2"`, "probe", test, path)
	probe.Dir = "/"
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return probe.Run() == nil
}

// claimFolder creates a folder if it is missing and makes the account its only user.
func (a account) claimFolder(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("create folder: %w", err)
	}
	if !a.dropped {
		return nil
	}
	if err := os.Chown(folder, a.uid, a.gid); err != nil {
		return fmt.Errorf("change the owner of the folder to %s: %w", a.name, err)
	}
	return nil
}

// ownerOf returns the uid that owns path, or -1 if path does not exist.
func ownerOf(path string) int {
	info, err := os.Lstat(path)
	if err != nil {
		return -1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
