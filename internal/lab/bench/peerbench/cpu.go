package peerbench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc.
const tick = 10 * time.Millisecond

// descendants returns the processor time of all processes that descend from this one. It requires /proc.
func descendants() (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read the processor times: /proc has no processes: %w", os.ErrNotExist)
	}
	children, times := map[int][]int{}, map[int]int64{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// the name may contain any characters, so fields are counted from its end
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		const parent, user, last = 1, 11, 14 // user, system, and both of children that have ended
		if len(fields) <= last {
			continue
		}
		above, _ := strconv.Atoi(fields[parent])
		children[above] = append(children[above], pid)
		for _, field := range fields[user : last+1] {
			n, _ := strconv.ParseInt(field, 10, 64)
			times[pid] += n
		}
	}
	total, left := int64(0), children[os.Getpid()]
	for len(left) > 0 {
		pid := left[0]
		total, left = total+times[pid], append(left[1:], children[pid]...)
	}
	return time.Duration(total) * tick, nil
}
