package embed

import (
	"context"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"

	"cairn/internal/search/lexical"
)

// DefaultDims is the length of hashing vectors unless configured otherwise.
const DefaultDims = 384

// HashingModel names the hashing embedder's space. Any change to what a text's
// features are needs a new name.
const HashingModel = "hashing-v1"

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

// hashed is the embedder that needs no model: words, character n-grams within
// words, and for CJK text characters and their pairs, each added to one of Dims
// numbers with a sign, both chosen by its hash (Weinberger et al. 2009). Counts
// grow logarithmically; vectors have unit length.
type hashed struct{ dims int }

// Hashing makes the embedder that needs no model; dims ≤ 0 means DefaultDims.
func Hashing(dims int) Embedder {
	if dims <= 0 {
		dims = DefaultDims
	}
	return hashed{dims: dims}
}

// Model names the space.
func (h hashed) Model() string { return HashingModel }

// Dims is the length of the vectors.
func (h hashed) Dims() int { return h.dims }

// Embed never fails but for a done ctx. A text without words or signs that
// count is the same fixed vector as every other such text.
func (h hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = h.vector(text)
	}
	return vectors, nil
}

func (h hashed) vector(text string) []float32 {
	features := featuresOf(text)
	if len(features) == 0 {
		features = map[uint64]*feature{hash('0', ""): {count: 1, weight: 1}}
	}
	hashes := make([]uint64, 0, len(features))
	for hash := range features {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes) // sums of floats depend on their order
	sums := make([]float64, h.dims)
	for _, hash := range hashes {
		value := features[hash].weight * (1 + math.Log(features[hash].count))
		if hash>>63 == 1 {
			value = -value
		}
		sums[hash%uint64(h.dims)] += value
	}
	return unit(sums)
}

type feature struct{ count, weight float64 }

// featuresOf counts the features of a text. Stop-words count only in a text
// that has nothing else.
func featuresOf(text string) map[uint64]*feature {
	features := map[uint64]*feature{}
	add := func(kind byte, name string, weight float64) {
		hash := hash(kind, name)
		if known, ok := features[hash]; ok {
			known.count++
			return
		}
		features[hash] = &feature{count: 1, weight: weight}
	}
	folded := lexical.Fold(text)
	for _, word := range lexical.Words(text) {
		if cjk(word) {
			if len([]rune(word)) > 1 {
				add('p', word, pairWeight)
			}
			continue
		}
		add('w', word, wordWeight)
		parts([]rune("^"+word+"$"), func(part string) { add('n', part, partWeight) })
	}
	for _, r := range folded {
		if lexical.IsCJK(r) && !lexical.IsStopword(string(r)) {
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

func cjk(word string) bool { return strings.IndexFunc(word, lexical.IsCJK) >= 0 }

func parts(runes []rune, each func(string)) {
	for size := shortestPart; size <= longestPart; size++ {
		for start := 0; start+size <= len(runes); start++ {
			each(string(runes[start : start+size]))
		}
	}
}

// hash keeps kinds of features apart.
func hash(kind byte, name string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte{kind})
	_, _ = io.WriteString(sum, name)
	// FNV's high bits are weak for short input; the finaliser of MurmurHash3 spreads them.
	x := sum.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// unit scales to length 1. Features that cancel out leave the fixed vector.
func unit(sums []float64) []float32 {
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
