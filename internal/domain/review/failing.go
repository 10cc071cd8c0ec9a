package review

import (
	"fmt"
	"math"
)

// Trial is a use of a version whose outcome is known.
type Trial struct {
	Version int
	Passed  bool
}

// Thresholds of versions in use.
const (
	failuresInRow = 3   // a version that fails so often in a row is withdrawn
	fewTrials     = 5   // fewer trials give no bound
	failingBound  = .5  // a version is withdrawn if it most likely passes less often
	provenEta     = .6  // a version is restored if its reliability is at least this
	priorEta      = .5  // reliability of a version without trials
	boundZ        = .84 // quantile of the normal distribution for a one-sided bound of 80 %
)

// Failing returns why a version is withdrawn, or "" if its trials give no reason. The latest trials
// come first.
func Failing(trials []Trial, version int) string {
	row, inRow := 0, true
	passes, n := 0, 0
	for _, t := range trials {
		if t.Version != version {
			continue
		}
		n++
		if t.Passed {
			passes++
			inRow = false
		} else if inRow {
			row++
		}
	}
	switch {
	case row >= failuresInRow:
		return fmt.Sprintf("version %d failed %d times in a row", version, row)
	case n >= fewTrials && upperBound(passes, n) < failingBound:
		return fmt.Sprintf("version %d passed %d of %d trials", version, passes, n)
	}
	return ""
}

// upperBound returns the upper end of the Wilson interval of a share.
func upperBound(passes, n int) float64 {
	share, count := float64(passes)/float64(n), float64(n)
	z2 := boundZ * boundZ
	return (share + z2/(2*count) + boundZ*math.Sqrt(share*(1-share)/count+z2/(4*count*count))) / (1 + z2/count)
}

// Proven reports whether trials show that a version works. The prior counts as one trial.
func Proven(trials []Trial, version int) bool {
	passes, n := 0, 0
	for _, t := range trials {
		if t.Version != version {
			continue
		}
		n++
		if t.Passed {
			passes++
		}
	}
	return (priorEta+float64(passes))/(1+float64(n)) >= provenEta
}
