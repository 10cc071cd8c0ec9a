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

// process identifies one process. The start time is part of it because process numbers are reused.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // start time, in a form that is only compared
}

// testRun identifies the `go test` run whose processes share the servers.
type testRun struct {
	Owner  process `json:"owner"`
	Folder string  `json:"folder"` // holds the addresses and locks
}

// thisRun returns the run of the `go test` that started this process. If a person or a debugger
// started it, the run is this process itself: a shell would keep the servers for hours.
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

// digest returns a name for the process that is valid in file and database names.
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

// identify returns the name and the start time of a process. ok is false if the process has ended,
// even if its parent has not collected it yet.
func identify(pid int) (name, start string, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identifyByPS(pid)
	}
	// "42 (go) S 1 …": the name can contain any character, so fields are counted after its closing
	// parenthesis.
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

// identifyByPS is for systems without /proc.
func identifyByPS(pid int) (name, start string, ok bool) {
	output, err := exec.Command("ps", "-o", "stat=,lstart=,comm=", "-p", strconv.Itoa(pid)).Output()
	fields := strings.Fields(string(output))
	// state, five fields of the date, then the program
	if err != nil || len(fields) < 7 || strings.HasPrefix(fields[0], "Z") {
		return "", "", false
	}
	return filepath.Base(fields[6]), strings.Join(fields[1:6], " "), true
}
