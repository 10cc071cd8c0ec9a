// Package testrun identifies a `go test` run and its record of the shared servers. Test processes and
// the program testservers use it. It links no server code, because each test program contains it.
package testrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// SearchAttributes are the search attributes of the test servers of Temporal, name to type.
var SearchAttributes = map[string]string{
	"CairnWorkspace": "Keyword", "CairnKind": "Keyword", "CairnChannel": "Keyword", "CairnConversation": "Keyword",
}

// Patience bounds the start of the servers. It includes the first build of the Temporal server, which
// takes long on a busy machine.
const Patience = 25 * time.Minute

// Failure is the prefix of the last line that testservers reports if the servers did not start.
const Failure = "failed: "

// Servers is the record of running servers.
type Servers struct {
	DatabaseURL       string  `json:"database_url"`       // the superuser's connection
	TemporalAddress   string  `json:"temporal_address"`   // host:port
	TemporalNamespace string  `json:"temporal_namespace"` // "default" unless the environment sets another
	Holder            Process `json:"holder"`             // the process that owns the servers
}

// Process identifies one process. The start time is part of it because process numbers are reused.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // start time, in a form that is only compared
}

// Order names the servers to start, and how long they run.
type Order struct {
	Owner        Process `json:"owner"`  // the servers end with it
	Folder       string  `json:"folder"` // holds the record and locks
	OnlyTemporal bool    `json:"only_temporal"`
}

// This returns the run of the `go test` that started this process. If a person or a debugger
// started it, the run is this process itself: a shell would keep the servers for hours.
func This() Order {
	owner := Process{PID: os.Getppid()}
	name, start, ok := identify(owner.PID)
	owner.Start = start
	if !ok || name != "go" {
		owner = Self()
	}
	return Order{Owner: owner, Folder: filepath.Join("/tmp",
		fmt.Sprintf("cairn-test-%d-%s", os.Geteuid(), owner.digest()))}
}

// Self returns the calling process.
func Self() Process {
	p := Process{PID: os.Getpid()}
	_, p.Start, _ = identify(p.PID)
	return p
}

// Servers reads the record of the run's servers. It returns an error if they have not started or if
// their holder has ended.
func (o Order) Servers() (*Servers, error) {
	text, err := os.ReadFile(o.record())
	if err != nil {
		return nil, fmt.Errorf("read the addresses of the test servers: %w", err)
	}
	var servers Servers
	if err := json.Unmarshal(text, &servers); err != nil {
		return nil, fmt.Errorf("read the addresses of the test servers: %w", err)
	}
	if !servers.Holder.Alive() {
		return nil, fmt.Errorf("the test servers of process %d have ended", servers.Holder.PID)
	}
	return &servers, nil
}

// Publish writes the record of the run's servers.
func (o Order) Publish(servers Servers) error {
	text, err := json.Marshal(servers)
	if err == nil {
		err = os.WriteFile(o.record(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("publish the test servers: %w", err)
	}
	return nil
}

func (o Order) record() string { return filepath.Join(o.Folder, "servers.json") }

// TemplatePrefix starts the names of the run's template databases.
func (o Order) TemplatePrefix() string { return "cairn_template_" + o.Owner.digest() + "_" }

// digest returns a name for the process that is valid in file and database names.
func (p Process) digest() string {
	sum := sha256.Sum256([]byte(strconv.Itoa(p.PID) + " " + p.Start))
	return hex.EncodeToString(sum[:5])
}

// Alive reports whether the process runs.
func (p Process) Alive() bool {
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
