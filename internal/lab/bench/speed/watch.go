package speed

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// sampleEvery is the sampling interval of the worker's memory.
const sampleEvery = 50 * time.Millisecond

// watchMemory samples the worker's memory until the returned function is called.
func (l *sweepLab) watchMemory(ctx context.Context) (stop func() []int64) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []int64, 1)
	worker := l.worker
	go func() {
		var samples []int64
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			if n, err := worker.Resident(); err == nil {
				samples = append(samples, n)
			}
			select {
			case <-ctx.Done():
				done <- samples
				return
			case <-tick.C:
			}
		}
	}()
	return func() []int64 { cancel(); return <-done }
}

// growth compares the first and the last tenth of the samples.
func growth(samples []int64) (first, last int64, change float64) {
	tenth := max(len(samples)/10, 1)
	if len(samples) < 2*tenth {
		return 0, 0, 0
	}
	first, last = mean(samples[:tenth]), mean(samples[len(samples)-tenth:])
	return first, last, float64(last)/float64(first) - 1
}

func mean(samples []int64) (sum int64) {
	for _, s := range samples {
		sum += s
	}
	return sum / int64(len(samples))
}

// startTimes reads the starts of the worker since from. It returns the time during which
// workflows were being started, without counting overlaps twice, and their number.
func (l *sweepLab) startTimes(from time.Time) (busy time.Duration, n int, err error) {
	file, err := os.Open(l.starts())
	if err != nil {
		return 0, 0, fmt.Errorf("open the list of starts: %w", err)
	}
	defer file.Close()
	var spans [][2]int64
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var s [2]int64
		if _, err := fmt.Sscan(lines.Text(), &s[0], &s[1]); err != nil {
			return 0, 0, fmt.Errorf("read the list of starts: %w", err)
		}
		if s[0] >= from.UnixNano() {
			spans = append(spans, s)
		}
	}
	return union(spans), len(spans), lines.Err()
}

func union(spans [][2]int64) (sum time.Duration) {
	slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	end := int64(0)
	for _, s := range spans {
		if s[1] > end {
			sum += time.Duration(s[1] - max(s[0], end))
			end = s[1]
		}
	}
	return sum
}
