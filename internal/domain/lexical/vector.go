package lexical

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A word's parts together weigh about as much as the word: shared stems then
// count, but do not drown the words themselves.
const (
	wordWeight = 1.0
	partWeight = 0.25 // of one character n-gram
	pairWeight = 1.0  // of a CJK bigram
	charWeight = 0.5  // of a single CJK character
)

// Lengths of character n-grams, in runes with the word's two edges.
const (
	shortestPart = 3
	longestPart  = 5
)

// Vector is a text as dims numbers: words, character n-grams within words, and for
// CJK text characters and their pairs, each added to one of the numbers with a sign,
// both chosen by its hash (Weinberger et al. 2009). Counts grow logarithmically;
// vectors have unit length. A text without words or signs that count is the same fixed
// vector as every other such text.
func Vector(text string, dims int) []float32 {
	features := featuresOf(text)
	if len(features) == 0 {
		features = []feature{{hash: hash('0', ""), weight: 1}}
	}
	// sums of floats depend on their order
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

// feature is one of a text's. What the text repeats is there again.
type feature struct {
	hash   uint64
	weight float64
}

// featuresOf are the features of a text. Stop-words count only in a text that
// has nothing else.
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
	starts := make([]int, 0, 80) // of characters, and the end; a word has 64 bytes at most
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

// FNV-1a of 64 bits. That of hash/fnv allocates, and a text has hundreds of features.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// hash keeps kinds of features apart.
func hash(kind byte, name string) uint64 {
	x := (fnvOffset ^ uint64(kind)) * fnvPrime
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * fnvPrime
	}
	// FNV's high bits are weak for short input; the finaliser of MurmurHash3 spreads them.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Unit scales to length 1. Features that cancel out leave the fixed vector.
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
