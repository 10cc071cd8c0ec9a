package bank

import (
	"regexp"
	"slices"
)

// sameMeaning is the cosine similarity from which two memories are duplicates.
const sameMeaning = 0.95

func cosine(a, b []float32) (dot float64) {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

var digits = regexp.MustCompile(`\d+`)

// sameNumbers reports whether two texts contain the same numbers. Vectors hardly distinguish dates
// and amounts.
func sameNumbers(a, b string) bool {
	return slices.Equal(digits.FindAllString(a, -1), digits.FindAllString(b, -1))
}
