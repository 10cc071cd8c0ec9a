// Package keyedrand draws random numbers that depend on their purpose and not on the order of
// calls. A shared generator gives other numbers with every order of goroutines. Here each draw is a
// function of a Key and a position. A training run is therefore reproducible bit for bit, with any
// number of workers.
//
//	key := keyedrand.Key{Run: "r1", Iteration: 7, Episode: 2, Span: 14, Skill: "insert", Purpose: "gumbel"}
//	stream := key.Stream()
//	noise := stream.Gumbel()
package keyedrand

import "math/bits"

// Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011, table 2 and §4.3).
const (
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
	weyl0       = 0x9E3779B9 // golden ratio
	weyl1       = 0xBB67AE85 // √3 − 1
	rounds      = 10
)

// philox is the block function of Philox4x32-10. It encrypts a counter.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range rounds {
		high0, low0 := bits.Mul32(multiplier0, counter[0])
		high1, low1 := bits.Mul32(multiplier1, counter[2])
		counter = [4]uint32{high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return counter
}
