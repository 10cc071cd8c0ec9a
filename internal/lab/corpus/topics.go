package corpus

import (
	"math/rand/v2"
	"strings"
)

// Topics generates texts from made-up words with the frequencies of a language. Texts have
// topics: memories about one topic share words, and so have similar vectors. Random texts
// without topics would all be equally distant, unlike real conversations, and no graph could
// index them. Its texts come one after the other, not by number.
type Topics struct {
	random    *rand.Rand
	workspace uint64
	topics    int
}

const (
	topicMemories = 50   // memories per topic
	topicWords    = 24   // words per topic
	topicShare    = 0.75 // fraction of a memory's words that are from its topic
	vocabulary    = 30_000
)

// NewTopics returns a generator of memories of a workspace, or of questions about them.
func NewTopics(workspace, memories int, seed uint64) *Topics {
	return &Topics{random: rand.New(rand.NewPCG(seed, uint64(workspace))), workspace: uint64(workspace),
		topics: memories/topicMemories + 1}
}

// Text returns the next text, of n words.
func (w *Topics) Text(n int) string {
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

func (w *Topics) topic(n int) []uint64 {
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
