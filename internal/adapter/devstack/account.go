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

// account is who runs a server. PostgreSQL refuses to run as root, so root
// lends it another account; everybody else runs it as themselves.
type account struct {
	name     string
	uid, gid int
	lent     bool // not our own
}

// self is the account of this process.
func self() account {
	return account{name: accountName(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}
}

// postgresAccount chooses who runs PostgreSQL. owner is the uid that owns the
// data already there, -1 when there is none: a cluster stays with its owner.
func postgresAccount(owner int) (account, error) {
	who := self()
	if who.uid != 0 {
		if who.name == "" {
			return who, fault.New(fault.Misconfigured,
				fmt.Sprintf("uid %d has no entry in the list of accounts, and PostgreSQL refuses to run so", who.uid),
				"run as an account of /etc/passwd, or use a running server: set DATABASE_URL")
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
		return account{name: name, uid: uid, gid: gid, lent: true}, nil
	}
	return who, fault.New(fault.Misconfigured,
		"PostgreSQL refuses to run as root, and neither postgres nor nobody exists to run it",
		"create an account (useradd --system postgres), run as an ordinary user, or set DATABASE_URL")
}

// accountName is the name of a uid, "" when nobody knows it. `id` also asks
// the directory services that a Go program built without cgo cannot.
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

// credential makes a child run as a lent account.
func (a account) credential() *syscall.Credential {
	if !a.lent {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// can asks the system, as this account, whether path passes the test of
// test(1): "-x" enter or execute, "-w" write. Mode bits alone would miss access
// control lists and closed folders above.
func (a account) can(test, path string) bool {
	probe := exec.Command("/bin/sh", "-c", `test "$1" "$2"`, "probe", test, path)
	probe.Dir = "/"
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return probe.Run() == nil
}

// own makes the account the only one who may use a folder, which is created
// when missing.
func (a account) own(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("create folder: %w", err)
	}
	if !a.lent {
		return nil
	}
	if err := os.Chown(folder, a.uid, a.gid); err != nil {
		return fmt.Errorf("give folder to %s: %w", a.name, err)
	}
	return nil
}

// ownerOf is the uid that owns path, -1 when it does not exist.
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
