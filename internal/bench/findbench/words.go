package findbench

import (
	"math/rand/v2"
	"strings"
)

// words are made up, as unevenly frequent as those of a language, and come in
// topics: memories about the same thing share words, as they share a direction
// in the space of a model's vectors. Texts of words drawn one by one would all be
// equally far from each other, which no talk is and no graph can serve.
type words struct {
	random    *rand.Rand
	workspace uint64
	topics    int
}

const (
	topicMemories = 50   // about one topic
	topicWords    = 24   // that it has
	topicShare    = 0.75 // of the words of a memory
	vocabulary    = 30_000
)

// newWords writes memories of a workspace, or questions about them.
func newWords(workspace, memories int, seed uint64) *words {
	return &words{random: rand.New(rand.NewPCG(seed, uint64(workspace))), workspace: uint64(workspace),
		topics: memories/topicMemories + 1}
}

func (w *words) text(n int) string {
	topic := w.topic(w.random.IntN(w.topics))
	any := zipf(w.random)
	out := make([]string, n)
	for i := range out {
		if w.random.Float64() < topicShare {
			out[i] = word(topic[w.random.IntN(len(topic))])
		} else {
			out[i] = word(any.Uint64())
		}
	}
	return strings.Join(out, " ")
}

func (w *words) topic(n int) []uint64 {
	from := zipf(rand.New(rand.NewPCG(w.workspace<<32|uint64(n), 11)))
	out := make([]uint64, topicWords)
	for i := range out {
		out[i] = from.Uint64()
	}
	return out
}

func zipf(random *rand.Rand) *rand.Zipf { return rand.NewZipf(random, 1.1, 20, vocabulary) }

var syllables = strings.Fields("ba ke li mo nu ra se ti vo zu da fe gi ho ju pa")

func word(k uint64) string {
	var out strings.Builder
	for k += 256; k > 0; k /= 16 {
		out.WriteString(syllables[k%16])
	}
	return out.String()
}
