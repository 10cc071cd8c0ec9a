//go:build !linux

package taubench

// peakMiB is not measured here.
func peakMiB() float64 { return 0 }
