package world

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/evaluation"
)

// text caches the properties of an item's text, because episodes write the same items many times.
// Expensive properties are computed on first use.
type text struct {
	content string
	tokens  int
	worth   float64
	vector  []float32
	seen    []float64 // as the policy sees it
	known   func() memoryrules.IndexedMemory
	words   func() words
}

// words are the search terms of a text.
type words struct {
	terms  []lexical.Term
	length int
	bag    evaluation.Bag
}

var texts sync.Map // by content

func textOf(content string) *text {
	if known, ok := texts.Load(content); ok {
		return known.(*text)
	}
	vector := lexical.Vector(content, dims)
	t := &text{content: content, tokens: llm.EstimateTokens(content), worth: worth(content), vector: vector,
		seen: folded(vector)}
	t.known = sync.OnceValue(func() memoryrules.IndexedMemory { return memoryrules.Recall("", content) })
	t.words = sync.OnceValue(func() words {
		terms := lexical.Terms(content)
		return words{terms, lexical.Length(terms), evaluation.Content(content)}
	})
	kept, _ := texts.LoadOrStore(content, t)
	return kept.(*text)
}

var (
	header  = regexp.MustCompile(`^(?:\d{4}-\d{2}-\d{2} )?(?:[A-Z]\w+: )?`)
	telling = []*regexp.Regexp{
		regexp.MustCompile(`\d`),
		regexp.MustCompile(`\S [A-Z][a-z]+`),
		regexp.MustCompile(`(?i)\b(?:yesterday|today|tomorrow|(?:last|next|this) ` +
			`\w+|ago|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b`),
		regexp.MustCompile(`(?i)\b(?:my|our|we|i)\b.*\b(?:\w+ed|went|got|made|took|bought|saw|met|won|found|gave|` +
			`love|like|want|plan)\b|\b(?:went|got|made|took|bought|saw|met|won|found|gave)\b`),
	}
)

// worth returns the value of an item, by the same rule in every row. Numbers, names, times and
// actions are informative; questions and short remarks are not. A date and a speaker that a skill
// has prepended are ignored.
func worth(content string) float64 {
	content = strings.TrimPrefix(content, header.FindString(content))
	sum := min(float64(len(lexical.Words(content))), 12) / 6
	for _, r := range telling {
		if r.MatchString(content) {
			sum++
		}
	}
	if strings.HasSuffix(content, "?") {
		sum -= 2
	}
	return sum
}

// item is one memory.
type item struct {
	*text
	seqs      []int
	decisions []string
	age       int
}

// id returns an ID that is unique in the episode.
func (i *item) id() string { return strconv.Itoa(i.age) }

// store is the memory of an episode.
type store struct {
	items  []*item
	has    map[string]bool
	tokens int
	most   int
	order  []*item // least informative first; of equals, the oldest
	made   int
	gone   []*item // removed for lack of room
	taken  []*item // copies before a decision rewrote or removed them, with that decision
}

func newStore(most int) *store { return &store{has: map[string]bool{}, most: most} }

func (s *store) insert(content string, seqs []int, decision string) bool {
	if s.has[content] {
		return false
	}
	i := &item{text: textOf(content), seqs: seqs, decisions: []string{decision}, age: s.made}
	s.made++
	s.items, s.has[content] = append(s.items, i), true
	s.rank(i)
	s.tokens += i.tokens
	return true
}

func (s *store) remove(i *item, decision string) {
	s.taken = append(s.taken, &item{text: i.text, seqs: i.seqs, decisions: []string{decision}})
	s.unrank(i)
	s.items = slices.DeleteFunc(s.items, func(o *item) bool { return o == i })
	delete(s.has, i.content)
	s.tokens -= i.tokens
}

func (s *store) rewrite(i *item, content string, seqs []int, decision string) {
	s.taken = append(s.taken, &item{text: i.text, seqs: i.seqs, decisions: []string{decision}})
	delete(s.has, i.content)
	s.unrank(i)
	s.tokens -= i.tokens
	i.text, i.seqs, i.decisions = textOf(content), append(slices.Clip(i.seqs), seqs...),
		append(slices.Clip(i.decisions), decision)
	s.has[content] = true
	s.tokens += i.tokens
	s.rank(i)
}

func (s *store) place(i *item) int {
	at, _ := slices.BinarySearchFunc(s.order, i, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.worth, b.worth), cmp.Compare(a.age, b.age))
	})
	return at
}

func (s *store) rank(i *item) { s.order = slices.Insert(s.order, s.place(i), i) }

func (s *store) unrank(i *item) {
	at := s.place(i)
	s.order = slices.Delete(s.order, at, at+1)
}

// fit removes the least informative items, oldest first of equals, until the store is within its
// limit.
func (s *store) fit() {
	if s.tokens <= s.most {
		return
	}
	gone, n := map[*item]bool{}, 0
	for _, i := range s.order {
		if s.tokens <= s.most {
			break
		}
		gone[i] = true
		n++
		delete(s.has, i.content)
		s.tokens -= i.tokens
	}
	s.gone = append(s.gone, s.order[:n]...)
	s.order = slices.Delete(s.order, 0, n)
	s.items = slices.DeleteFunc(s.items, func(i *item) bool { return gone[i] })
}

// held returns the share of the room that the items of each decision use.
func (s *store) held(decisions []policy.Decision) []float64 {
	by := map[string]float64{}
	for _, i := range s.items {
		for _, id := range i.decisions {
			by[id] += float64(i.tokens) / float64(len(i.decisions)) / float64(s.most)
		}
	}
	out := make([]float64, len(decisions))
	for t, d := range decisions {
		out[t] = by[d.ID]
	}
	return out
}

// by groups items by their source messages.
func by(items []*item) map[int][]*item {
	out := map[int][]*item{}
	for _, i := range items {
		for _, seq := range i.seqs {
			out[seq] = append(out[seq], i)
		}
	}
	return out
}

func inner(a, b []float32) float32 {
	var w, x, y, z float32
	b = b[:len(a)]
	for i := 0; i+3 < len(a); i += 4 {
		w, x, y, z = w+a[i]*b[i], x+a[i+1]*b[i+1], y+a[i+2]*b[i+2], z+a[i+3]*b[i+3]
	}
	return w + x + y + z
}

// nearest returns the items nearest to a vector; of equals, the oldest first.
func (s *store) nearest(to []float32, most int) []*item {
	type scored struct {
		i   *item
		dot float32
	}
	var best []scored // closest first
	for _, i := range s.items {
		dot := inner(to, i.vector)
		if len(best) == most && dot <= best[most-1].dot {
			continue
		}
		at := slices.IndexFunc(best, func(o scored) bool { return o.dot < dot })
		if at < 0 {
			at = len(best)
		}
		best = slices.Insert(best, at, scored{i, dot})
		best = best[:min(len(best), most)]
	}
	out := make([]*item, len(best))
	for n, b := range best {
		out[n] = b.i
	}
	return out
}

// reader searches items with BM25.
type reader struct {
	store    *store
	postings map[int32][]posting
	mean     float64
}

type posting struct {
	item, tf int
	length   float64 // of the item
}

func (s *store) reader() reader {
	r := reader{store: s, postings: map[int32][]posting{}}
	for n, i := range s.items {
		w := i.words()
		for _, t := range w.terms {
			r.postings[t.Hash] = append(r.postings[t.Hash], posting{n, t.TF, float64(w.length)})
		}
		r.mean += float64(w.length) / float64(len(s.items))
	}
	return r
}

// read returns the best items that fit into the given number of tokens.
func (r reader) read(terms []lexical.Term, tokens int) (out []*item) {
	const k1, b = 1.2, 0.75
	scores := make([]float64, len(r.store.items))
	var order []int
	n := float64(len(r.store.items))
	for _, t := range terms {
		found := r.postings[t.Hash]
		idf := math.Log(1 + (n-float64(len(found))+0.5)/(float64(len(found))+0.5))
		for _, p := range found {
			if scores[p.item] == 0 {
				order = append(order, p.item)
			}
			tf := float64(p.tf)
			scores[p.item] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*p.length/r.mean))
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(i, j)) })
	for _, i := range order {
		if one := r.store.items[i]; one.tokens <= tokens {
			tokens -= one.tokens
			out = append(out, one)
		} else {
			break
		}
	}
	return out
}
