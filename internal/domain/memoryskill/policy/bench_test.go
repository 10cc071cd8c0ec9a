package policy

import (
	"fmt"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// BenchmarkDecide measures decisions per second of one worker.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ dim, hidden, skills int }{{worldDim, worldHidden, 8}, {384, 256, 30}} {
		b.Run(fmt.Sprintf("%dx%d-%dskills", size.dim, size.hidden, size.skills), func(b *testing.B) {
			policy, err := NewPolicy(TowerShape(size.dim, size.hidden), keyedrand.Key{})
			if err != nil {
				b.Fatal(err)
			}
			stream := keyedrand.Key{Purpose: "bench"}.Stream()
			draw := func(n int) []float64 {
				v := make([]float64, n)
				for i := range v {
					v[i] = stream.Normal()
				}
				return v
			}
			var candidates []Candidate
			for i := range size.skills {
				candidates = append(candidates, Candidate{ID: fmt.Sprintf("skill%02d", i), Vector: draw(size.dim)})
			}
			scorer, err := policy.Scorer(candidates)
			if err != nil {
				b.Fatal(err)
			}
			state := draw(2 * size.dim)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, err := scorer.Decide(state, Choice{K: 3, Key: keyedrand.Key{Span: i}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// BenchmarkUpdate measures updates per second on a batch of 108 decisions. Eight epochs allocate as
// much as one.
func BenchmarkUpdate(b *testing.B) {
	for _, epochs := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("%depochs", epochs), func(b *testing.B) {
			policy, steps, vectors := sampled(b, TowerShape(worldDim, worldHidden))
			p := DefaultPPO()
			p.Epochs = epochs
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, _, _, err := Update(policy, Adam{}, steps, vectors, p,
					keyedrand.Key{Iteration: i}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}
