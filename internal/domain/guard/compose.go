package guard

import (
	"cmp"
	"math/bits"
	"slices"
)

// Distances in half words.
const (
	defaultGap = 8  // between two words of an order
	negated    = 6  // from a negation to the verb after it
	paired     = 16 // from a verb to its negation
	negates    = 5  // from a verb to the negation after it
	sentence   = 60 // the length of an order
)

// wordRule reports a sentence with a word of each group in needs, near one another, in any order.
type wordRule struct {
	rule
	needs   []groups
	mask    groups // all groups of needs
	verb    groups // what a negation makes harmless
	unless  groups
	pair    [2]groups // groups that stand side by side
	gap     int
	negated int
}

// scanOrders applies the rules of patterns/languages.yaml to folded text.
func scanOrders(f folded, scope Scope, loose bool) []Finding {
	l := wordLists()
	hits := l.hitsIn(f.text, loose)
	var findings []Finding
	for _, r := range l.rules {
		if r.scope > scope {
			continue
		}
		reported := 0
		for _, m := range r.matches(l, hits) {
			if reported == perRule {
				break
			}
			if severity := r.judge(f.text, m.start, m.end); severity != Safe {
				reported++
				findings = append(findings,
					Finding{Family: r.family, Severity: severity, Line: f.line(m.start), ID: r.id})
			}
		}
	}
	return findings
}

// matches returns the orders among the words of a text. A word too far from the one before it starts
// another order. It looks at each word once, so its time is linear.
func (r wordRule) matches(l *lexicon, hits []hit) (out []window) {
	latest := make([]int, len(r.needs)) // index of the hit + 1
	last := 0                           // end of the previous word
	for i, h := range hits {
		if !h.groups.meets(r.mask) {
			continue
		}
		if h.first-last > r.gap {
			clear(latest)
		}
		last = max(last, h.last)
		for n, need := range r.needs {
			if h.groups.meets(need) {
				latest[n] = i + 1
			}
		}
		if slices.Min(latest) == 0 {
			continue
		}
		order := r.order(hits, latest)
		if order == nil || !r.close(l, hits, order) || r.harmless(l, hits, order) {
			continue
		}
		clear(latest)
		start, end := order[0].start, 0
		for _, o := range order {
			end = max(end, o.end)
		}
		out = append(out, window{start, end})
	}
	return out
}

// order returns the words of an order by position, nil if they are too far from one another.
func (r wordRule) order(hits []hit, latest []int) []hit {
	order := make([]hit, len(latest))
	for n, i := range latest {
		order[n] = hits[i-1]
	}
	slices.SortFunc(order, func(a, b hit) int { return cmp.Compare(a.first, b.first) })
	if order[len(order)-1].first-order[0].first > sentence {
		return nil
	}
	return order
}

// close reports whether the two groups of r.pair stand side by side, such as a negation and its verb.
func (r wordRule) close(l *lexicon, hits, order []hit) bool {
	if (r.pair[0] == groups{}) {
		return true
	}
	for _, a := range order {
		for _, b := range order {
			if a.groups.meets(r.pair[0]) && b.groups.meets(r.pair[1]) && l.joins(hits, a, b, negated, paired) {
				return true
			}
		}
	}
	return false
}

// joins reports whether word b follows word a within before half words, or a follows b within after
// half words, without a conjunction between the two.
func (l *lexicon) joins(hits []hit, a, b hit, before, after int) bool {
	limit := before
	if a.first > b.first {
		a, b, limit = b, a, after
	}
	if b.first-a.last > limit {
		return false
	}
	from, _ := slices.BinarySearchFunc(hits, a.first, func(h hit, at int) int { return cmp.Compare(h.first, at) })
	for _, h := range hits[from:] {
		if h.first > b.first {
			break
		}
		if h.groups.meets(l.groups["and"]) && h.start >= a.end && h.end <= b.start {
			return false
		}
	}
	return true
}

// harmless reports whether the verb of an order is negated, or a condition makes it a policy.
func (r wordRule) harmless(l *lexicon, hits, order []hit) bool {
	first, last := order[0].first-sentence, order[len(order)-1].last+sentence
	from, _ := slices.BinarySearchFunc(hits, first, func(h hit, at int) int { return cmp.Compare(h.first, at) })
	spoken := languagesOf(hits[from:], last)
	for _, h := range hits[from:] {
		switch {
		case h.first > last:
			return false
		case h.groups.meets(r.unless):
			return true
		case h.groups.meets(l.groups["not"]) && h.langs&spoken != 0 && !overlaps(h, order) &&
			r.negatedBy(l, hits, order, h):
			return true
		case h.groups.meets(l.groups["notafter"]) && !overlaps(h, order) && r.denied(order, h):
			return true
		case h.groups.meets(l.groups["attacker"]) && h.first < order[0].first && l.tried(hits[from:], h, order[0]):
			return true // "attackers may ask a model to …"
		}
	}
	return false
}

// languagesOf returns the languages that most of the words up to a position belong to. Short words
// such as "no" have other meanings in other languages.
func languagesOf(hits []hit, last int) (spoken uint64) {
	var counts [64]int
	most := 0
	for _, h := range hits {
		if h.first > last {
			break
		}
		for left := h.langs; left != 0 && left != ^uint64(0); left &= left - 1 {
			i := bits.TrailingZeros64(left)
			counts[i]++
			most = max(most, counts[i])
		}
	}
	for i, n := range counts {
		if n > 0 && 4*n > 3*most {
			spoken |= 1 << i
		}
	}
	return spoken
}

// tried reports whether a word such as "tries" stands between an attacker and an order.
func (l *lexicon) tried(hits []hit, attacker, order hit) bool {
	return slices.ContainsFunc(hits, func(h hit) bool {
		return h.groups.meets(l.groups["tries"]) && h.start >= attacker.end && h.end <= order.start
	})
}

// overlaps reports whether a word is part of a word of the order, such as "no" of "no questions".
func overlaps(h hit, order []hit) bool {
	return slices.ContainsFunc(order, func(o hit) bool { return h.start < o.end && o.start < h.end })
}

// negatedBy reports whether the negation n belongs to the verb of the order.
func (r wordRule) negatedBy(l *lexicon, hits, order []hit, n hit) bool {
	return slices.ContainsFunc(order, func(o hit) bool {
		return o.groups.meets(r.verb) && l.joins(hits, n, o, r.negated, negates)
	})
}

// denied reports whether n follows the verb of the order, as in Japanese.
func (r wordRule) denied(order []hit, n hit) bool {
	return slices.ContainsFunc(order, func(o hit) bool {
		return o.groups.meets(r.verb) && n.start >= o.end && n.first-o.last <= negates
	})
}
