package search

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// QueryWord is a query word with its statistics in the searched workspace.
type QueryWord struct {
	Term      int64   // key of the word in the index
	DF        int     // documents that contain the word; 0 removes the word from the plan
	IDF       float64 // inverse document frequency, greater than 0
	MaxWeight float64 // highest weight of the word in any document
}

func (w QueryWord) bound() float64 { return w.IDF * w.MaxWeight }

// WordHit is a document with its exact score over all query words.
type WordHit struct {
	Doc   int64
	Score float64
}

// WordSource reads the index. A set lists positions in the words that Search was
// called with. Best returns the n documents with the highest scores among those
// that contain every word of at least one set; without sets, among all documents.
// Hits are ordered by descending score, then by ascending Doc.
type WordSource interface {
	Best(ctx context.Context, sets [][]int, n int) ([]WordHit, error)
}

// WordOptions bound the work of a search. Zero values select the defaults.
type WordOptions struct {
	Docs int // documents of the workspace
	Kept int // documents that pass the filter, an estimate; 0 means Docs
	K    int // wanted hits, default 100
	Work int // documents that sets may match in total, an estimate, default 150,000
	// Until is when the search starts no further round; zero means never. The first round always runs.
	Until time.Time
}

// Limits of a plan.
const (
	defaultK    = 100
	defaultWork = 150_000
	scoreAll    = 5_000 // a workspace or filter of at most so many documents is scored without a plan
	frequent    = 8     // most frequent words that are combined into sets
	maxSets     = 64    // sets per round
	rounds      = 3     // the first, which estimates the k-th score, and two that complete it
	step        = 0.04  // of the highest bound, by which the first round lowers its threshold
	margin      = 1e-5  // of a score, for sums of float32 weights
)

// Round describes one round of a search.
type Round struct {
	Threshold float64   // sets with a higher bound were considered
	Sets      [][]int   // positions of words
	Bounds    []float64 // one for each set
	Rows      int       // documents that the sets were expected to match
	Left      int       // sets that the budget excluded
}

// WordResult holds the best documents.
type WordResult struct {
	Hits   []WordHit
	Exact  bool // no other document has a higher score than the last hit
	Rounds []Round
}

// Rows is the number of documents that all rounds were expected to match.
func (r WordResult) Rows() int {
	n := 0
	for _, round := range r.Rounds {
		n += round.Rows
	}
	return n
}

// BestByWords finds the documents with the highest word scores without
// reading every document that contains a query word.
//
// The score of a document is the sum of idf·weight over the query words that it
// contains, so it is at most the sum of idf·MaxWeight: the bound of its set of
// words. The plan asks for sets of words with a high bound first, learns the k-th
// score, and then asks only for sets whose bound exceeds it. A document outside
// of all sets that were asked for cannot be among the best k, so the result is
// exact unless a budget was exhausted.
//
//	result, err := search.Search(ctx, words, source, search.Options{Docs: 1_000_000, K: 100})
func BestByWords(ctx context.Context, words []QueryWord, source WordSource, o WordOptions) (WordResult, error) {
	o.K, o.Work = cmp.Or(o.K, defaultK), cmp.Or(o.Work, defaultWork)
	o.Kept = min(cmp.Or(o.Kept, o.Docs), o.Docs)
	p := newPlan(words, o)
	if len(p.order) == 0 {
		return WordResult{Exact: true}, nil
	}
	if o.Kept <= scoreAll {
		hits, err := source.Best(ctx, nil, o.K)
		if err != nil {
			return WordResult{}, fmt.Errorf("score all documents: %w", err)
		}
		return WordResult{Hits: hits, Exact: true, Rounds: []Round{{Rows: o.Kept}}}, nil
	}
	result := WordResult{}
	threshold, found := p.firstThreshold(), false
	for n := range rounds {
		if n > 0 {
			threshold = p.theta(result.Hits)
		}
		if len(result.Rounds) > 0 && !o.Until.IsZero() && time.Now().After(o.Until) {
			return result, nil
		}
		round := p.next(threshold)
		if len(round.Sets) == 0 {
			result.Exact = n > 0 && round.Left == 0
			if n > 0 {
				return result, nil
			}
			continue
		}
		hits, err := source.Best(ctx, round.Sets, o.K)
		if err != nil {
			return WordResult{}, fmt.Errorf("round %d: %w", n+1, err)
		}
		result.Hits = merge(result.Hits, hits, o.K)
		result.Rounds = append(result.Rounds, round)
		found = true
	}
	result.Exact = found && p.complete(p.theta(result.Hits))
	return result, nil
}

// plan is the state of one search. A mask is a set of the most frequent words.
type plan struct {
	words []QueryWord
	o     WordOptions
	order []int // positions of words with documents, by descending frequency
	freq  []int // the first of order, one for each bit of a mask
	rare  []int // the others, rarest last
	bound []float64
	size  []float64 // expected documents
	asked []uint16  // masks that were executed
	read  int       // rare words that were executed, from the end of rare
	spent float64
}

func newPlan(words []QueryWord, o WordOptions) *plan {
	p := &plan{words: words, o: o}
	for i, w := range words {
		if w.DF > 0 {
			p.order = append(p.order, i)
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(words[b].DF, words[a].DF) })
	n := min(frequent, len(p.order))
	p.freq, p.rare = p.order[:n], p.order[n:]
	p.bound, p.size = make([]float64, 1<<n), make([]float64, 1<<n)
	p.size[0] = float64(o.Kept)
	for mask := 1; mask < 1<<n; mask++ {
		low := bits.TrailingZeros(uint(mask))
		rest, w := mask&(mask-1), words[p.freq[low]]
		p.bound[mask] = p.bound[rest] + w.bound()
		p.size[mask] = p.size[rest] * min(1, float64(w.DF)/float64(max(1, o.Docs)))
	}
	return p
}

// firstThreshold is the highest bound above which the minimal sets should hold
// three times the wanted documents.
func (p *plan) firstThreshold() float64 {
	total := p.bound[len(p.bound)-1]
	for i := 1; float64(i)*step < 1; i++ {
		threshold := total * (1 - float64(i)*step)
		expected := 0.0
		for _, mask := range p.minimal(threshold) {
			expected += p.size[mask]
		}
		if expected >= float64(3*p.o.K) {
			return threshold
		}
	}
	return 0
}

// minimal returns the sets with a bound above threshold none of whose proper
// subsets has one: they hold every document whose bound exceeds threshold.
func (p *plan) minimal(threshold float64) (masks []uint16) {
	for mask := 1; mask < len(p.bound); mask++ {
		if p.bound[mask] <= threshold {
			continue
		}
		smallest := true
		for rest := uint(mask); rest != 0; rest &= rest - 1 {
			without := mask &^ (1 << bits.TrailingZeros(rest))
			if without != 0 && p.bound[without] > threshold {
				smallest = false
				break
			}
		}
		if smallest {
			masks = append(masks, uint16(mask))
		}
	}
	return masks
}

func (p *plan) covered(mask uint16) bool {
	return slices.ContainsFunc(p.asked, func(a uint16) bool { return a&mask == a })
}

// open returns the minimal sets above threshold that no executed set covers,
// highest bound first.
func (p *plan) open(threshold float64) []uint16 {
	masks := slices.DeleteFunc(p.minimal(threshold), p.covered)
	slices.SortStableFunc(masks, func(a, b uint16) int { return cmp.Compare(p.bound[b], p.bound[a]) })
	return masks
}

// rareOpen counts the rare words that can still lift a document above threshold:
// one that contains the word, and perhaps all frequent ones and rarer ones.
func (p *plan) rareOpen(threshold float64) int {
	left := p.rare[:len(p.rare)-p.read]
	total := p.bound[len(p.bound)-1]
	for _, i := range left {
		total += p.words[i].bound()
	}
	if total <= threshold {
		return 0
	}
	return len(left)
}

// next chooses the sets of a round within the budget: rare words, the rarest
// first, then sets of frequent words, those with the highest bound first.
func (p *plan) next(threshold float64) Round {
	round := Round{Threshold: threshold}
	for n := p.rareOpen(threshold); n > 0; n-- {
		word := p.rare[n-1]
		if !p.afford(&round, float64(p.words[word].DF)*float64(p.o.Kept)/float64(max(1, p.o.Docs)), []int{word},
			p.words[word].bound()) {
			round.Left += n
			break
		}
		p.read++
	}
	for _, mask := range p.open(threshold) {
		var set []int
		for rest := uint(mask); rest != 0; rest &= rest - 1 {
			set = append(set, p.freq[bits.TrailingZeros(rest)])
		}
		if !p.afford(&round, p.size[mask], set, p.bound[mask]) {
			round.Left++
			continue
		}
		p.asked = append(p.asked, mask)
	}
	return round
}

// afford adds a set to the round unless the budget is exhausted. The first set of
// a search always runs.
func (p *plan) afford(round *Round, rows float64, set []int, bound float64) bool {
	if len(round.Sets) == maxSets || p.spent > 0 && p.spent+rows > float64(p.o.Work) {
		return false
	}
	p.spent += rows
	round.Sets, round.Bounds = append(round.Sets, set), append(round.Bounds, bound)
	round.Rows += int(rows)
	return true
}

// theta is the score that a document must exceed to be among the best K.
func (p *plan) theta(hits []WordHit) float64 {
	if len(hits) < p.o.K {
		return -1
	}
	last := hits[p.o.K-1].Score
	return last - margin*max(1, last)
}

// complete reports whether no set that can hold a better document is left.
func (p *plan) complete(threshold float64) bool {
	return p.rareOpen(threshold) == 0 && len(p.open(threshold)) == 0
}

// merge joins two ordered lists of hits and keeps the best n.
func merge(a, b []WordHit, n int) []WordHit {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y WordHit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Doc, y.Doc))
	})
	all = slices.CompactFunc(all, func(x, y WordHit) bool { return x.Doc == y.Doc })
	return all[:min(n, len(all))]
}
