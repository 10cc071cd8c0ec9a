//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// pollInterval is the interval at which the memory of a sandbox is added up.
const pollInterval = 20 * time.Millisecond

// watch kills a sandbox that exceeds a limit or is canceled. When its first process dies, the
// kernel kills all of them.
func watch(ctx context.Context, first *os.Process, l Limits, stop context.CancelCauseFunc, ended <-chan struct{}) {
	wall := time.NewTimer(l.Wall)
	defer wall.Stop()
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	buffer := socketBuffer()
	for {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			_ = first.Kill() // it may have ended
			<-ended
			return
		case <-wall.C:
			stop(stopping(StopWall))
		case <-ticks.C:
			if resident(first.Pid)+socketMemory(first.Pid, buffer) > l.Together {
				stop(stopping(StopMemory))
			}
		}
	}
}

// resident returns the memory of the first process and all processes below it, in bytes. Shared
// pages are counted for each, so the result is never too low.
func resident(first int) (sum int64) {
	todo := []int{first}
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		sum += residentOf(pid)
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil { // it has ended
			continue
		}
		for _, t := range threads {
			raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
			for _, child := range bytes.Fields(raw) {
				if n, err := strconv.Atoi(string(child)); err == nil {
					todo = append(todo, n)
				}
			}
		}
	}
	return sum
}

func residentOf(pid int) int64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := bytes.Fields(raw); len(fields) > 1 {
		if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}
