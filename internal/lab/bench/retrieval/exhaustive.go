package retrieval

import (
	"math"
	"slices"

	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
)

// exhaustive scores every document by BM25, with the same weights as the index. It keeps only the
// words of known queries.
type exhaustive struct {
	docs     int
	postings map[int32][]posting
}

type posting struct {
	doc    int32
	weight float32
}

func newExhaustive(queries []string) *exhaustive {
	e := &exhaustive{postings: map[int32][]posting{}}
	for _, q := range queries {
		for _, t := range lexical.Terms(q) {
			e.postings[t.Hash] = nil
		}
	}
	return e
}

func (e *exhaustive) add(docs []index.Doc) {
	for _, d := range docs {
		for i, t := range d.Terms {
			if list, asked := e.postings[t]; asked {
				e.postings[t] = append(list, posting{int32(e.docs), d.Weights[i]})
			}
		}
		e.docs++
	}
}

// best returns the k highest scores for a query, highest first.
func (e *exhaustive) best(query string, k int) []float64 {
	scores := make([]float64, e.docs)
	for _, t := range lexical.Terms(query) {
		list := e.postings[t.Hash]
		df := float64(len(list))
		idf := math.Log(1 + (float64(e.docs)-df+0.5)/(df+0.5))
		for _, p := range list {
			scores[p.doc] += idf * float64(p.weight)
		}
	}
	scores = slices.DeleteFunc(scores, func(s float64) bool { return s == 0 })
	return highest(scores, k)
}

// highest returns the k highest scores, highest first.
func highest(scores []float64, k int) []float64 {
	slices.SortFunc(scores, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return scores[:min(k, len(scores))]
}

// slack is the error of scores that Postgres adds up from 32-bit numbers, as a share.
const slack = 1e-4
