package devtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is one process for certain: a number alone is used again.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when it began, in a form that only compares
}

// testRun is what shares the servers: the life of one `go test`.
type testRun struct {
	Owner  process `json:"owner"`
	Folder string  `json:"folder"` // of the addresses and locks
}

// thisRun belongs to the `go test` that started us, or to ourselves when a
// person or a debugger did: their shell would keep the servers for hours.
func thisRun() testRun {
	owner := process{PID: os.Getppid()}
	name, start, ok := identify(owner.PID)
	if !ok || name != "go" {
		owner.PID = os.Getpid()
		_, start, _ = identify(owner.PID)
	}
	owner.Start = start
	return testRun{Owner: owner, Folder: filepath.Join("/tmp",
		fmt.Sprintf("cairn-test-%d-%s", os.Geteuid(), owner.digest()))}
}

// digest is a name for the process that is good in file and database names.
func (p process) digest() string {
	sum := sha256.Sum256([]byte(strconv.Itoa(p.PID) + " " + p.Start))
	return hex.EncodeToString(sum[:5])
}

func (p process) alive() bool {
	if p.PID <= 0 || syscall.Kill(p.PID, 0) == syscall.ESRCH {
		return false
	}
	_, start, ok := identify(p.PID)
	return ok && start == p.Start
}

// identify gives the name of a process and when it began; false when it has
// ended, even if its parent has not noticed yet.
func identify(pid int) (name, start string, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identifyByPS(pid)
	}
	// "42 (go) S 1 …": the name can contain anything, so fields count from its end.
	before, after, found := strings.Cut(string(text), "(")
	end := strings.LastIndex(after, ")")
	if !found || before == "" || end < 0 {
		return "", "", false
	}
	const state, startTime = 0, 19 // proc(5): fields 3 and 22
	fields := strings.Fields(after[end+1:])
	if len(fields) <= startTime || fields[state] == "Z" {
		return "", "", false
	}
	return after[:end], fields[startTime], true
}

// identifyByPS serves systems without /proc.
func identifyByPS(pid int) (name, start string, ok bool) {
	output, err := exec.Command("ps", "-o", "stat=,lstart=,comm=", "-p", strconv.Itoa(pid)).Output()
	fields := strings.Fields(string(output))
	// state, five words of the date, then the program
	if err != nil || len(fields) < 7 || strings.HasPrefix(fields[0], "Z") {
		return "", "", false
	}
	return filepath.Base(fields[6]), strings.Join(fields[1:6], " "), true
}
