package guard

import (
	"cmp"
	"slices"
)

// Distances in half words.
const (
	defaultGap = 10 // between two words of an order
	negated    = 6  // from a negation to the verb after it
	negates    = 5  // from a verb to the negation after it
	sentence   = 60 // the length of an order
)

// wordRule reports a sentence with a word of each group in needs, near one another, in any order.
type wordRule struct {
	rule
	needs  []uint64
	verb   uint64
	unless uint64
	gap    int
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
				findings = append(findings, Finding{Family: r.family, Severity: severity, Line: f.line(m.start), ID: r.id})
			}
		}
	}
	return findings
}

// matches returns the orders among the words of a text. It keeps the latest word of each group, so
// its time is linear.
func (r wordRule) matches(l *lexicon, hits []hit) (out []window) {
	latest := make([]int, len(r.needs)) // index of the hit + 1
	done := 0                           // words before it belong to an earlier match
	for i, h := range hits {
		met := false
		for n, need := range r.needs {
			if h.groups&need != 0 {
				latest[n], met = i+1, true
			}
		}
		if !met || slices.Min(latest) <= done {
			continue
		}
		order := r.near(hits, latest)
		if order == nil || r.harmless(l, hits, order) {
			continue
		}
		done = i + 1
		start, end := order[0].start, 0
		for _, o := range order {
			end = max(end, o.end)
		}
		out = append(out, window{start, end})
	}
	return out
}

// near returns the words of an order in their order, nil if they are too far from one another.
func (r wordRule) near(hits []hit, latest []int) []hit {
	order := make([]hit, len(latest))
	for n, i := range latest {
		order[n] = hits[i-1]
	}
	slices.SortFunc(order, func(a, b hit) int { return cmp.Compare(a.first, b.first) })
	for n := 1; n < len(order); n++ {
		if order[n].first-order[n-1].last > r.gap {
			return nil
		}
	}
	if order[len(order)-1].first-order[0].first > sentence {
		return nil
	}
	return order
}

// harmless reports whether the verb of an order is negated, or a condition makes it a policy.
func (r wordRule) harmless(l *lexicon, hits, order []hit) bool {
	first, last := order[0].first-sentence, order[len(order)-1].last+sentence
	from, _ := slices.BinarySearchFunc(hits, first, func(h hit, at int) int { return cmp.Compare(h.first, at) })
	for _, h := range hits[from:] {
		switch {
		case h.first > last:
			return false
		case h.groups&r.unless != 0:
			return true
		case h.groups&l.groups["not"] != 0 && !overlaps(h, order) && r.negatedBy(l, hits[from:], order, h):
			return true
		case h.groups&l.groups["notafter"] != 0 && r.denied(order, h):
			return true
		}
	}
	return false
}

// overlaps reports whether a word is part of a word of the order, such as "no" of "no questions".
func overlaps(h hit, order []hit) bool {
	return slices.ContainsFunc(order, func(o hit) bool { return h.start < o.end && o.start < h.end })
}

// negatedBy reports whether the negation n belongs to the verb of the order. A conjunction between
// the two separates them.
func (r wordRule) negatedBy(l *lexicon, hits, order []hit, n hit) bool {
	for _, o := range order {
		if o.groups&r.verb == 0 {
			continue
		}
		start, end := n, o
		if n.first > o.first {
			start, end = o, n
		}
		distance := end.first - start.last
		if distance > negated || n.first > o.first && distance > negates {
			continue
		}
		joined := slices.ContainsFunc(hits, func(h hit) bool {
			return h.groups&l.groups["and"] != 0 && h.start >= start.end && h.end <= end.start
		})
		if !joined {
			return true
		}
	}
	return false
}

// denied reports whether n follows the verb of the order, as in Japanese.
func (r wordRule) denied(order []hit, n hit) bool {
	return slices.ContainsFunc(order, func(o hit) bool {
		return o.groups&r.verb != 0 && n.start >= o.end && n.first-o.last <= negates
	})
}
