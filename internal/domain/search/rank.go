package search

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cairn/internal/domain/lexical"
)

// Word is a query word with its statistics in the workspace.
type Word struct {
	Term int32
	DF   int     // documents that contain it
	IDF  float64 // ln(1 + (N - df + 0.5) / (df + 0.5))
	Name bool    // it is part of a speaker's name: as a word it says little
}

// Weight is what the word counts in the score of a document.
func (w Word) Weight() float64 {
	if w.Name {
		return nameShare * w.IDF
	}
	return w.IDF
}

// Document is a candidate, or a turn next to one.
type Document struct {
	ID           int64
	Kind         string
	Turn         bool
	Owner        int64 // of a turn: its conversation
	Seq, Session int   // of a turn: its place, and the place at which its session begins
	Type, Target string
	TargetTerms  []int32
	Asks, Dated  bool
	EventTime    time.Time // zero if unknown
	Conversation int64
	Utility      float64           // from 0 to 1; 0.5 if unknown
	Terms        map[int32]float32 // weights (lexical.Weight) of all its words
	Rejected     bool              // does not pass the filter: it supports others and is not a result
	VectorRank   int               // from 1; 0 if it is not among the nearest
	Cosine       float64           // 0 if it is not among the nearest
}

// Query is what the documents are ranked for.
type Query struct {
	Words    []Word
	Date     lexical.Date
	AsksWhen bool
	Now      time.Time
}

// Scored is a ranked document.
type Scored struct {
	ID      int64
	Score   float64
	Lexical float64 // exact BM25 score
	Covered float64 // share of the query's idf that the document contains
	Cosine  float64
	Parts   Parts
	Also    []int64 // duplicates of it, best first; they are no results of their own

	event time.Time
}

// Parts are the addends of a score.
type Parts struct {
	Words    float64 `json:"words"`    // rank by words
	Vector   float64 `json:"vector"`   // rank by vector
	Session  float64 `json:"session"`  // fit of the session, or of a document's own words
	Target   float64 `json:"target"`   // the query names the target or the speaker
	Date     float64 `json:"date"`     // the query names the date
	When     float64 `json:"when"`     // the query asks when, and the document has words of time
	Question float64 `json:"question"` // negative if the document is a question
	Recent   float64 `json:"recent"`   // age
	Utility  float64 `json:"utility"`  // reliability of a skill
}

func (p Parts) sum() float64 {
	return p.Words + p.Vector + p.Session + p.Target + p.Date + p.When + p.Question + p.Recent + p.Utility
}

func (p Parts) times(factor float64) Parts {
	return Parts{Words: p.Words * factor, Vector: p.Vector * factor, Session: p.Session * factor,
		Target: p.Target * factor, Date: p.Date * factor, When: p.When * factor, Question: p.Question * factor,
		Recent: p.Recent * factor, Utility: p.Utility * factor}
}

const nameShare = 0.3

type place struct {
	owner        int64
	session, seq int
}

type sitting struct {
	owner   int64
	session int
}

// candidate is a document with the intermediate values of its score.
type candidate struct {
	Document
	own, covered, words, fit float64
}

// Rank orders the documents that a search has found. It joins the ranks by
// words and by vector (reciprocal rank fusion) and adds what the documents
// themselves say: the session that a turn belongs to, the speaker, the date, the age.
//
//	ranked := search.Rank(documents, search.Query{Words: words}, search.DefaultWeights())
func Rank(documents []Document, q Query, w Weights) []Scored {
	all := make([]candidate, len(documents))
	total := 0.0
	for _, word := range q.Words {
		if !word.Name && (word.DF > 0 || q.Date.Month == 0) {
			total += word.IDF
		}
	}
	for i, d := range documents {
		all[i] = candidate{Document: d}
		for _, word := range q.Words {
			if weight, held := d.Terms[word.Term]; held {
				all[i].own += float64(weight) * word.Weight()
				if !word.Name {
					all[i].covered += word.IDF
				}
			}
		}
	}
	discussed := fits(all, q.Words)
	lend(all, w)
	if !relevant(all, discussed, total, w) {
		return nil
	}
	return diversify(collapse(score(all, total, q, w), all, w), all, w.Diversity)
}

// fits sets how well the session of each turn, or a document alone, fits the query.
// It returns the highest share of words that a session contains.
func fits(all []candidate, words []Word) (discussed float64) {
	type sum struct{ weights, tells map[int32]float64 }
	sessions := map[sitting]sum{}
	held := map[int32]int{}
	peak := 0.0
	for _, c := range all {
		peak = max(peak, c.own)
		if !c.Turn {
			continue
		}
		key := sitting{c.Owner, c.Session}
		for _, word := range words {
			weight, found := c.Terms[word.Term]
			if !found {
				continue
			}
			s, known := sessions[key]
			if !known {
				s = sum{map[int32]float64{}, map[int32]float64{}}
				sessions[key] = s
			}
			if _, counted := s.weights[word.Term]; !counted {
				held[word.Term]++
			}
			s.weights[word.Term] += float64(weight)
			if !word.Name {
				s.tells[word.Term] = word.IDF
			}
		}
	}
	n, fit, height := float64(len(sessions)), map[sitting]float64{}, 0.0
	for key, s := range sessions {
		covered := 0.0
		for _, word := range words { // in the order of the query, so that sums are equal everywhere
			weight, found := s.weights[word.Term]
			if !found {
				continue
			}
			h := float64(held[word.Term])
			fit[key] += math.Log(1+(n-h+0.5)/(h+0.5)) * weight / (weight + 1.2)
			covered += s.tells[word.Term]
		}
		height, discussed = max(height, fit[key]), max(discussed, covered)
	}
	for i := range all {
		c := &all[i]
		switch {
		case c.Turn && height > 0:
			c.fit = fit[sitting{c.Owner, c.Session}] / height
		case !c.Turn && peak > 0:
			c.fit = c.own / peak
		}
	}
	return discussed
}

// lend gives each turn a share of the scores of the turns around it: a question is
// seldom the answer, and what follows it often is.
func lend(all []candidate, w Weights) {
	dropped := map[place]float64{}
	for _, c := range all {
		if !c.Turn || c.own == 0 {
			continue
		}
		next := w.Next
		if c.Asks {
			next = w.Answer
		}
		for i, share := range []float64{w.SecondPrevious, w.Previous, 1, next, w.SecondNext} {
			dropped[place{c.Owner, c.Session, c.Seq + i - 2}] += c.own * share
		}
	}
	for i := range all {
		if c := &all[i]; c.Turn {
			c.words = dropped[place{c.Owner, c.Session, c.Seq}]
		} else {
			c.words = w.Alone * c.own
		}
	}
}

// relevant reports whether any document, session or vector answers the query.
func relevant(all []candidate, discussed, total float64, w Weights) bool {
	if discussed > 0 && discussed >= w.Discussed*total {
		return true
	}
	return slices.ContainsFunc(all, func(c candidate) bool { return answers(c, total, w) })
}

func answers(c candidate, total float64, w Weights) bool {
	return c.own > 0 && c.covered >= w.Cover*total || c.VectorRank > 0 && c.Cosine >= w.MinCosine
}

func score(all []candidate, total float64, q Query, w Weights) (out []Scored) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(a.ID, b.ID))
	})
	best, company := peaksOf(all), companies(all, q)
	for at, c := range all {
		if c.Rejected || !(c.Turn && c.words > 0 || answers(c, total, w)) {
			continue
		}
		s := Scored{ID: c.ID, Lexical: c.own, Cosine: c.Cosine, event: c.EventTime, Parts: parts(c, at+1, best, q, w)}
		if c.Turn && company[c.Owner] {
			s.Parts.Target += w.Target
		}
		if factor, weighted := w.Types[c.Type]; weighted && !c.Turn {
			s.Parts = s.Parts.times(factor)
		}
		s.Score = s.Parts.sum()
		if total > 0 {
			s.Covered = c.covered / total
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.event.Compare(a.event), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// companies are the conversations in which a speaker that the query names has a turn: what others
// say to that speaker is more likely to be about the query than what is said elsewhere.
func companies(all []candidate, q Query) map[int64]bool {
	out := map[int64]bool{}
	for _, c := range all {
		if c.Turn && named(c, q) {
			out[c.Owner] = true
		}
	}
	return out
}

// named reports whether the query names the target or speaker of c.
func named(c candidate, q Query) bool {
	return slices.ContainsFunc(c.TargetTerms, func(t int32) bool {
		return slices.ContainsFunc(q.Words, func(word Word) bool { return word.Term == t })
	})
}

// peaks are the highest values of all candidates.
type peaks struct{ words, cosine float64 }

func peaksOf(all []candidate) (p peaks) {
	for _, c := range all {
		p.words, p.cosine = max(p.words, c.words), max(p.cosine, c.Cosine)
	}
	return p
}

func ratio(value, peak float64) float64 {
	if peak <= 0 {
		return 0
	}
	return value / peak
}

// repeats reports whether c has the words of the query and hardly others: then it is what was searched
// for, even if it is a question.
func repeats(c candidate, q Query, duplicate float64) bool {
	words := map[int32]float32{}
	for _, word := range q.Words {
		words[word.Term] = 0
	}
	return jaccard(c.Terms, words) >= duplicate
}

func parts(c candidate, at int, best peaks, q Query, w Weights) (p Parts) {
	switch {
	case w.Weighted:
		p.Words = w.Lexical * ratio(c.words, best.words)
		p.Vector = w.Vector * ratio(max(0, c.Cosine), best.cosine)
	default:
		if c.words > 0 {
			p.Words = w.Lexical * (w.RRF + 1) / (w.RRF + float64(at))
		}
		if c.VectorRank > 0 {
			p.Vector = w.Vector * (w.RRF + 1) / (w.RRF + float64(c.VectorRank))
		}
	}
	p.Session = w.Session * c.fit
	if named(c, q) {
		p.Target = w.Target
	}
	if d := q.Date; d.Month > 0 && !c.EventTime.IsZero() && int(c.EventTime.Month()) == int(d.Month) &&
		(d.Year == 0 || d.Year == c.EventTime.Year()) {
		if p.Date = w.Month; d.Day == c.EventTime.Day() {
			p.Date = w.Day
		}
	}
	if q.AsksWhen && c.Dated {
		p.When = w.When
	}
	if c.Asks && !repeats(c, q, w.Duplicate) {
		p.Question = -w.Question
	}
	if !c.EventTime.IsZero() {
		age := max(0, q.Now.Sub(c.EventTime).Hours()/24)
		p.Recent = w.Recent * math.Exp(-age/w.RecentDays)
	}
	p.Utility = w.Utility * (c.Utility - 0.5)
	return p
}
