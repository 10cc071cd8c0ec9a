package fault

import "fmt"

// MaxNumber bounds numbers without a natural range, such as rewards: from -MaxNumber to MaxNumber.
const MaxNumber = 1_000_000

// CheckNumber returns InvalidArgument unless value is a finite number from low to high.
func CheckNumber(name string, value, low, high float64) error {
	if value >= low && value <= high {
		return nil
	}
	return New(InvalidArgument, fmt.Sprintf("%s is %g, must be %s", name, value, interval(low, high)),
		"use a number from "+interval(low, high))
}

func interval(low, high float64) string { return fmt.Sprintf("%.15g to %.15g", low, high) }
