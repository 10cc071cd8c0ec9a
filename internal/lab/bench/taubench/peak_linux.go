package taubench

import "syscall"

// peakMiB returns the peak memory of this process in MiB.
func peakMiB() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}
