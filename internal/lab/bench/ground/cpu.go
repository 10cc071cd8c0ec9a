package ground

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// CPU returns the user and system CPU time of the process so far. It requires /proc.
func (p *Worker) CPU() (time.Duration, error) { return CPUOf(p.command.Process.Pid) }

// PID returns the ID of the process.
func (p *Worker) PID() int { return p.command.Process.Pid }

// CPUOf is Process.CPU of any process.
func CPUOf(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	// "42 (worker) S 1 …": the name may contain any characters, so fields are counted from its end.
	const user, system = 11, 12 // proc(5): fields 14 and 15
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if len(fields) <= system {
		return 0, fmt.Errorf("read the processor time: %s has %d fields", path, len(fields))
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
