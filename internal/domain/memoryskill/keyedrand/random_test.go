package keyedrand

import (
	"math"
	"testing"
)

// The known answers are published with Random123, file kat_vectors.
func TestPhiloxGivesItsPublishedAnswers(t *testing.T) {
	t.Parallel()
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func TestEveryFieldOfAKeyChangesTheDraws(t *testing.T) {
	t.Parallel()
	keys := []Key{
		{}, {Run: "a"}, {Stage: 1}, {Iteration: 1}, {Episode: 1}, {Span: 1}, {Skill: "a"}, {Purpose: "a"},
		{Run: "ab", Skill: "c"}, {Run: "a", Skill: "bc"}, {Span: -1},
	}
	seen := map[uint64]Key{}
	for _, key := range keys {
		stream, again := key.Stream(), key.Stream()
		first := stream.Uint64()
		if first != again.Uint64() {
			t.Errorf("%+v draws differently the second time", key)
		}
		if other, there := seen[first]; there {
			t.Errorf("%+v and %+v draw the same", key, other)
		}
		seen[first] = key
		if second := stream.Uint64(); second == first || stream.Uint64() == first {
			t.Errorf("%+v repeats itself", key)
		}
	}
}

func TestDistributionsHaveTheirMoments(t *testing.T) {
	t.Parallel()
	const n = 200_000
	const euler = 0.5772156649
	for _, c := range []struct {
		name           string
		draw           func(*Stream) float64
		mean, variance float64
	}{
		{"uniform", (*Stream).Float64, 0.5, 1.0 / 12},
		{"gumbel", (*Stream).Gumbel, euler, math.Pi * math.Pi / 6},
		{"normal", (*Stream).Normal, 0, 1},
		{"integers to 7", func(s *Stream) float64 { return float64(s.IntN(7)) }, 3, 4},
	} {
		stream := Key{Purpose: c.name}.Stream()
		sum, squares := 0.0, 0.0
		for range n {
			x := c.draw(&stream)
			sum += x
			squares += x * x
		}
		mean := sum / n
		variance := squares/n - mean*mean
		// Five standard errors of the mean; 3 % for the variance.
		if math.Abs(mean-c.mean) > 5*math.Sqrt(c.variance/n) || math.Abs(variance/c.variance-1) > 0.03 {
			t.Errorf("%s: mean %.4f, variance %.4f; want %.4f, %.4f", c.name, mean, variance, c.mean, c.variance)
		}
	}
}

func TestShuffleReachesEveryOrderEquallyOften(t *testing.T) {
	t.Parallel()
	const n = 60_000
	stream := Key{Purpose: "shuffle"}.Stream()
	counts := map[[3]int]int{}
	for range n {
		order := [3]int{0, 1, 2}
		stream.Shuffle(3, func(i, j int) { order[i], order[j] = order[j], order[i] })
		counts[order]++
	}
	for order, count := range counts {
		if math.Abs(float64(count)/n-1.0/6) > 0.01 {
			t.Errorf("%v came %d times of %d", order, count, n)
		}
	}
	if len(counts) != 6 {
		t.Errorf("%d orders", len(counts))
	}
}

func BenchmarkGumbelOfAKey(b *testing.B) {
	b.ReportAllocs()
	key := Key{Run: "0198c0de-run", Stage: 3, Iteration: 41, Skill: "capture_temporal_context", Purpose: "gumbel"}
	for i := range b.N {
		key.Span = i
		stream := key.Stream()
		stream.Gumbel()
	}
}
