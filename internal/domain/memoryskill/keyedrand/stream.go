package keyedrand

import (
	"math"
	"math/bits"
)

// Stream is a position in the draws of one Key. It is a value: a copy continues independently from
// the same position. The hash of the key is Philox's key and the upper half of its counter; the
// lower half counts blocks.
type Stream struct {
	key, high [2]uint32
	block     uint64
	spare     uint64 // the second half of the last block
	hasSpare  bool
}

// Uint64 draws 64 bits.
func (s *Stream) Uint64() uint64 {
	if s.hasSpare {
		s.hasSpare = false
		return s.spare
	}
	out := philox([4]uint32{uint32(s.block), uint32(s.block >> 32), s.high[0], s.high[1]}, s.key)
	s.block++
	s.spare, s.hasSpare = uint64(out[2])|uint64(out[3])<<32, true
	return uint64(out[0]) | uint64(out[1])<<32
}

// Float64 draws from (0, 1). Both ends are excluded, so that the logarithm exists.
func (s *Stream) Float64() float64 {
	const ulp = 1.0 / (1 << 53)
	return (float64(s.Uint64()>>12)*2 + 1) * ulp
}

// Gumbel draws from the standard Gumbel distribution.
func (s *Stream) Gumbel() float64 { return -math.Log(-math.Log(s.Float64())) }

// Normal draws from the standard normal distribution (Box and Muller 1958).
func (s *Stream) Normal() float64 {
	radius := math.Sqrt(-2 * math.Log(s.Float64()))
	return radius * math.Cos(2*math.Pi*s.Float64())
}

// IntN draws from 0 to n−1. n must be positive. The bias of the multiplication is below n/2⁶⁴.
func (s *Stream) IntN(n int) int {
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}

// Shuffle permutes n items with swap (Fisher and Yates).
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.IntN(i+1))
	}
}
