package ground

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident returns the resident memory of the process in bytes. It requires /proc.
func (p *Worker) Resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the worker's memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("read the worker's memory: no VmRSS")
}
