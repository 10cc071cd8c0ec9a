package speed

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Processor is the processor time of the processes of a measurement.
type Processor struct {
	Gateway  time.Duration `json:"gateway_ns"`
	Worker   time.Duration `json:"worker_ns"`
	Postgres time.Duration `json:"postgres_ns"`
	Temporal time.Duration `json:"temporal_ns"`
	Own      time.Duration `json:"own_ns"` // of this process
}

// All is the time of all processes of Cairn.
func (p Processor) All() time.Duration { return p.Gateway + p.Worker + p.Postgres + p.Temporal }

// Bare is the time of all processes of a bare workflow.
func (p Processor) Bare() time.Duration { return p.Own + p.Temporal }

func (p Processor) minus(o Processor) Processor {
	return Processor{p.Gateway - o.Gateway, p.Worker - o.Worker, p.Postgres - o.Postgres, p.Temporal - o.Temporal,
		p.Own - o.Own}
}

func (p Processor) per(n int) Processor {
	d := time.Duration(max(1, n))
	return Processor{p.Gateway / d, p.Worker / d, p.Postgres / d, p.Temporal / d, p.Own / d}
}

// stat is a process in /proc.
type stat struct {
	parent int
	own    time.Duration // user and system time
	waited time.Duration // of its children that have exited
}

func readStat(pid int) (s stat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	// "42 (worker) S 1 …": the name may contain any characters, so fields are counted from its end.
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	const parent, user, system, waitedUser, waitedSystem = 1, 11, 12, 13, 14 // proc(5)
	if len(fields) <= waitedSystem {
		return s, fmt.Errorf("read the processor time of %d: %d fields", pid, len(fields))
	}
	at := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // a number of the kernel
		return time.Duration(n) * clockTick
	}
	s.parent, _ = strconv.Atoi(fields[parent])
	s.own, s.waited = at(user)+at(system), at(waitedUser)+at(waitedSystem)
	return s, nil
}

// processorTimes adds up the time of the descendants of this process by program. The gateway and the worker
// are known by their IDs; Postgres consists of a process for each connection.
func processorTimes(gateway, worker int) (out Processor, err error) {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return out, err
	}
	all := map[int]stat{}
	for _, folder := range found {
		pid, _ := strconv.Atoi(filepath.Base(folder)) // matched digits
		if s, err := readStat(pid); err == nil {      // else it has exited meanwhile
			all[pid] = s
		}
	}
	for pid, s := range all {
		switch {
		case pid == os.Getpid():
			out.Own = s.own
		case !descends(all, pid, os.Getpid()):
		case pid == gateway:
			out.Gateway += s.own + s.waited
		case pid == worker:
			out.Worker += s.own + s.waited
		default:
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty if it has exited
			switch name := string(line); {
			case strings.Contains(name, "temporal"):
				out.Temporal += s.own + s.waited
			case strings.Contains(name, "postgres"):
				out.Postgres += s.own + s.waited
			}
		}
	}
	return out, nil
}

// descends reports whether a process is a descendant of another.
func descends(all map[int]stat, pid, of int) bool {
	for range len(all) {
		s, known := all[pid]
		if !known || pid == of {
			return pid == of
		}
		pid = s.parent
	}
	return false
}
