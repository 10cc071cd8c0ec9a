package lexical

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The parts of a word weigh about as much as the word. Shared stems therefore matter, but do not
// dominate the words.
const (
	wordWeight = 1.0
	partWeight = 0.25 // of one character n-gram
	pairWeight = 1.0  // of a CJK bigram
	charWeight = 0.5  // of a single CJK character
)

// Lengths of character n-grams, in runes, including the two edges of the word.
const (
	shortestPart = 3
	longestPart  = 5
)

// Vector embeds a text as dims numbers. Features are words, character n-grams within words, and for
// CJK text characters and their pairs. A hash of the feature selects the number to add it to and
// its sign (Weinberger et al. 2009). Counts grow logarithmically, and vectors have unit length. All
// texts without features have the same fixed vector.
func Vector(text string, dims int) []float32 {
	features := featuresOf(text)
	if len(features) == 0 {
		features = []feature{{hash: hash('0', ""), weight: 1}}
	}
	// The result of a sum of floats depends on its order.
	slices.SortFunc(features, func(a, b feature) int { return cmp.Compare(a.hash, b.hash) })
	sums := make([]float64, dims)
	for len(features) > 0 {
		one, count := features[0], 1
		for count < len(features) && features[count].hash == one.hash {
			count++
		}
		features = features[count:]
		value := one.weight * (1 + math.Log(float64(count)))
		if one.hash>>63 == 1 {
			value = -value
		}
		sums[one.hash%uint64(dims)] += value
	}
	return Unit(sums)
}

// feature is one occurrence of a feature. A repeated feature occurs several times.
type feature struct {
	hash   uint64
	weight float64
}

// featuresOf returns the features of a text. Stop-words are used only if the text has no other
// words.
func featuresOf(text string) []feature {
	features := make([]feature, 0, 4*len(text))
	add := func(kind byte, name string, weight float64) {
		features = append(features, feature{hash(kind, name), weight})
	}
	folded := Fold(text)
	for _, word := range Words(text) {
		if cjk(word) {
			if utf8.RuneCountInString(word) > 1 {
				add('p', word, pairWeight)
			}
			continue
		}
		add('w', word, wordWeight)
		parts("^"+word+"$", func(part string) { add('n', part, partWeight) })
	}
	for _, r := range folded {
		if IsCJK(r) && !IsStopword(string(r)) {
			add('c', string(r), charWeight)
		}
	}
	if len(features) == 0 {
		for _, word := range strings.Fields(folded) {
			add('w', word, wordWeight)
		}
	}
	return features
}

func cjk(word string) bool { return strings.IndexFunc(word, IsCJK) >= 0 }

func parts(word string, each func(string)) {
	starts := make([]int, 0, 80) // offsets of characters, and the end; a word has at most 64 bytes
	for at := range word {
		starts = append(starts, at)
	}
	starts = append(starts, len(word))
	for size := shortestPart; size <= longestPart; size++ {
		for from := 0; from+size < len(starts); from++ {
			each(word[starts[from]:starts[from+size]])
		}
	}
}

// Constants of 64-bit FNV-1a. The implementation of hash/fnv allocates, and a text has hundreds of
// features.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// hash returns different values for equal names of different kinds.
func hash(kind byte, name string) uint64 {
	x := (fnvOffset ^ uint64(kind)) * fnvPrime
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * fnvPrime
	}
	// The high bits of FNV are weak for short input. The finalizer of MurmurHash3 mixes them.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Unit scales sums to length 1. If all features cancel out, it returns the fixed vector.
func Unit(sums []float64) []float32 {
	squares := 0.0
	for _, sum := range sums {
		squares += sum * sum
	}
	vector := make([]float32, len(sums))
	if squares == 0 {
		vector[0] = 1
		return vector
	}
	length := math.Sqrt(squares)
	for i, sum := range sums {
		vector[i] = float32(sum / length)
	}
	return vector
}
