package policy

import "math"

// State returns the state of a decision, in the form of this shape.
func (s Shape) State(span []float64, memories [][]float64) []float64 {
	if s.Fuse == SimWeighted {
		return StateBySimilarity(span, memories, s.Temperature)
	}
	return State(span, memories)
}

// State joins the span's vector and the mean of the vectors of the retrieved memories, which is not
// normalized again. Without memories the second half is zero. All vectors have the same length.
func State(span []float64, memories [][]float64) []float64 {
	equal := make([]float64, len(memories))
	for i := range equal {
		equal[i] = 1 / float64(len(memories))
	}
	return fuse(span, memories, equal)
}

// minTemperature keeps the softmax of StateBySimilarity finite.
const minTemperature = 1e-8

// StateBySimilarity is State with memories weighted by softmax(cos(span, memory)/τ). As τ
// approaches 0, only the nearest memory has weight, or several equally near ones. A zero vector has
// similarity 0.
func StateBySimilarity(span []float64, memories [][]float64, temperature float64) []float64 {
	similarities := make([]float64, len(memories))
	for i, m := range memories {
		similarities[i] = cosine(span, m) / max(temperature, minTemperature)
	}
	return fuse(span, memories, Softmax(similarities))
}

func fuse(span []float64, memories [][]float64, weights []float64) []float64 {
	state := make([]float64, 2*len(span))
	copy(state, span)
	half := state[len(span):]
	for i, m := range memories {
		for j, x := range m {
			half[j] += weights[i] * x
		}
	}
	return state
}

func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// Fold returns a vector of dims numbers. Each number of v is added, with its own sign, to one
// position (count sketch, Charikar et al. 2002). Inner products are preserved on average.
func Fold(v []float32, dims int) []float64 {
	out := make([]float64, dims)
	if len(v) <= dims {
		for i, x := range v {
			out[i] = float64(x)
		}
		return out
	}
	for i, x := range v {
		h := uint64(i+1) * 0x9E3779B97F4A7C15 // Fibonacci hashing: position and sign of i
		h ^= h >> 29
		if h>>40&1 == 1 {
			x = -x
		}
		out[h%uint64(dims)] += float64(x)
	}
	return out
}
