//go:build !linux

package taubench

// peakMiB returns 0, because peak memory is measured only on Linux.
func peakMiB() float64 { return 0 }
