package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Profile overrides parameters of searches; absent members change nothing. Profiles of a file, of
// a workspace and of a request apply in this order.
type Profile struct {
	// Candidates is the number of documents that are found by words and then ranked, 10 to 400.
	// The default is 60, or 6 times the limit up to 120.
	Candidates *int `json:"candidates,omitempty" yaml:"candidates"`
	// Work is the number of documents that one search by words can read, 1000 to 10000000. The
	// default is 150000. A search that reaches it reports that it is not exact.
	Work *int `json:"work,omitempty" yaml:"work"`
	// TimeoutMS is the time, 10 to 60000 milliseconds, after which a search by words starts no
	// further round. The default is 2000.
	TimeoutMS *int `json:"timeout_ms,omitempty" yaml:"timeout_ms"`

	// Fusion joins the results by words and by vector: rrf, the default, by their ranks, or
	// weighted by their scores relative to the best one.
	Fusion *string `json:"fusion,omitempty" yaml:"fusion"`
	// RRFK is the constant of reciprocal rank fusion, 1 to 1000. The default is 30.
	RRFK *float64 `json:"rrf_k,omitempty" yaml:"rrf_k"`
	// WLexical is the weight of the rank by words, 0 to 10. The default is 1.
	WLexical *float64 `json:"w_lexical,omitempty" yaml:"w_lexical"`
	// WVector is the weight of the rank by vector, 0 to 10. The default is 0.8, or 0.1 with the
	// hashing embedder.
	WVector *float64 `json:"w_vector,omitempty" yaml:"w_vector"`
	// WSession is the weight of how well the session of a turn fits, 0 to 10. The default is 0.7.
	WSession *float64 `json:"w_session,omitempty" yaml:"w_session"`
	// Neighbors are the shares of its score that a turn lends to the next turn, the previous one,
	// and those two places after and before it, 0 to 1 each. The default is 0.3, 0.4, 0.2, 0.2.
	Neighbors []float64 `json:"neighbors,omitempty" yaml:"neighbors"`
	// WAnswer is the share that a question lends to the next turn, 0 to 1. The default is 0.7.
	WAnswer *float64 `json:"w_answer,omitempty" yaml:"w_answer"`
	// WTarget is added if the query names the target or the speaker, 0 to 10. The default is 0.4.
	WTarget *float64 `json:"w_target,omitempty" yaml:"w_target"`
	// WDay is added to documents of the date that the query names, 0 to 10. The default is 0.8.
	WDay *float64 `json:"w_day,omitempty" yaml:"w_day"`
	// WMonth is added to documents of the month that the query names, 0 to 10. The default is 0.4.
	WMonth *float64 `json:"w_month,omitempty" yaml:"w_month"`
	// WRecent is added to documents of today, 0 to 10. The default is 0.05.
	WRecent *float64 `json:"w_recent,omitempty" yaml:"w_recent"`
	// RecentDays is the number of days after which WRecent has fallen to a third, 1 to 10000. The
	// default is 30.
	RecentDays *float64 `json:"recent_days,omitempty" yaml:"recent_days"`
	// WUtility is the weight of a skill's reliability, 0 to 10. The default is 0.1.
	WUtility *float64 `json:"w_utility,omitempty" yaml:"w_utility"`
	// WType holds factors of memories by type, 0 to 10. The default is 0.9 for procedural and tool,
	// 0.6 for summary and 1 for all others.
	WType map[string]float64 `json:"w_type,omitempty" yaml:"w_type"`
	// FloorCosine is the least cosine similarity of a result that matches by its vector alone, -1 to
	// 1. The default is SKILL_RECALL_MIN_SIM.
	FloorCosine *float64 `json:"floor_cosine,omitempty" yaml:"floor_cosine"`
	// FloorCover is the least share of the query's idf that a result by words contains, 0 to 1. The
	// default is 0.15.
	FloorCover *float64 `json:"floor_cover,omitempty" yaml:"floor_cover"`
	// DupJaccard is the similarity of words from which on memories are near duplicates, 0.5 to 1.
	// The default is 0.9.
	DupJaccard *float64 `json:"dup_jaccard,omitempty" yaml:"dup_jaccard"`
	// MMRLambda balances relevance and diversity of the first 50 results, 0 to 1. The default is 1,
	// relevance only.
	MMRLambda *float64 `json:"mmr_lambda,omitempty" yaml:"mmr_lambda"`
}

// Fusions of the results by words and by vector.
const (
	FusionRRF      = "rrf"
	FusionWeighted = "weighted"
)

// number is a parameter with its range, both included.
type number struct {
	name      string
	from      *float64
	to        *float64
	low, high float64
}

func (p Profile) numbers(w *Weights) []number {
	return []number{
		{"rrf_k", p.RRFK, &w.RRF, 1, 1000},
		{"w_lexical", p.WLexical, &w.Lexical, 0, 10},
		{"w_vector", p.WVector, &w.Vector, 0, 10},
		{"w_session", p.WSession, &w.Session, 0, 10},
		{"w_answer", p.WAnswer, &w.Answer, 0, 1},
		{"w_target", p.WTarget, &w.Target, 0, 10},
		{"w_day", p.WDay, &w.Day, 0, 10},
		{"w_month", p.WMonth, &w.Month, 0, 10},
		{"w_recent", p.WRecent, &w.Recent, 0, 10},
		{"recent_days", p.RecentDays, &w.RecentDays, 1, 10_000},
		{"w_utility", p.WUtility, &w.Utility, 0, 10},
		{"floor_cosine", p.FloorCosine, &w.MinCosine, -1, 1},
		{"floor_cover", p.FloorCover, &w.Cover, 0, 1},
		{"dup_jaccard", p.DupJaccard, &w.Duplicate, 0.5, 1},
		{"mmr_lambda", p.MMRLambda, &w.Diversity, 0, 1},
	}
}

// Validate returns fault.InvalidArgument with the name of the first member that is out of range.
func (p Profile) Validate() error {
	for _, n := range p.numbers(&Weights{}) {
		if n.from != nil && !(*n.from >= n.low && *n.from <= n.high) {
			return outOfRange(n.name, *n.from, n.low, n.high)
		}
	}
	for _, whole := range []struct {
		name      string
		value     *int
		low, high int
	}{
		{"candidates", p.Candidates, 10, 400},
		{"work", p.Work, 1000, 10_000_000},
		{"timeout_ms", p.TimeoutMS, 10, 60_000},
	} {
		if whole.value != nil && (*whole.value < whole.low || *whole.value > whole.high) {
			return outOfRange(whole.name, float64(*whole.value), float64(whole.low), float64(whole.high))
		}
	}
	if p.Fusion != nil && *p.Fusion != FusionRRF && *p.Fusion != FusionWeighted {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("search.fusion is %q", *p.Fusion),
			"use "+FusionRRF+" or "+FusionWeighted)
	}
	if n := len(p.Neighbors); n != 0 && n != 4 {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("search.neighbors has %d numbers", n),
			"use 4, such as [0.3, 0.4, 0.2, 0.2]")
	}
	for _, share := range p.Neighbors {
		if !(share >= 0 && share <= 1) {
			return outOfRange("neighbors", share, 0, 1)
		}
	}
	return p.validateTypes()
}

// memoryTypes are the keys of WType.
var memoryTypes = []string{"core", "identity", "note", "personal", "procedural", "profile", "summary", "tool"}

func (p Profile) validateTypes() error {
	for _, name := range slices.Sorted(maps.Keys(p.WType)) {
		if !slices.Contains(memoryTypes, name) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("search.w_type has the unknown memory type %q", name),
				"use one of "+strings.Join(memoryTypes, ", "))
		}
		if factor := p.WType[name]; !(factor >= 0 && factor <= 10) {
			return outOfRange("w_type."+name, factor, 0, 10)
		}
	}
	return nil
}

func outOfRange(name string, value, low, high float64) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("search.%s is %g", name, value),
		fmt.Sprintf("use a value from %g to %g", low, high))
}

// Apply returns w with the members of p.
func (p Profile) Apply(w Weights) Weights {
	for _, n := range p.numbers(&w) {
		if n.from != nil {
			*n.to = *n.from
		}
	}
	if p.Fusion != nil {
		w.Weighted = *p.Fusion == FusionWeighted
	}
	if n := p.Neighbors; len(n) == 4 {
		w.Next, w.Previous, w.SecondNext, w.SecondPrevious = n[0], n[1], n[2], n[3]
	}
	if len(p.WType) > 0 {
		types := maps.Clone(w.Types)
		maps.Copy(types, p.WType)
		w.Types = types
	}
	for _, whole := range []struct{ from, to *int }{{p.Candidates, &w.Candidates}, {p.Work, &w.Work},
		{p.TimeoutMS, &w.TimeoutMS}} {
		if whole.from != nil {
			*whole.to = *whole.from
		}
	}
	return w
}

// ProfileOf returns a profile with all members of w.
func ProfileOf(w Weights) Profile {
	fusion := FusionRRF
	if w.Weighted {
		fusion = FusionWeighted
	}
	return Profile{Candidates: &w.Candidates, Work: &w.Work, TimeoutMS: &w.TimeoutMS, Fusion: &fusion, RRFK: &w.RRF,
		WLexical: &w.Lexical, WVector: &w.Vector, WSession: &w.Session,
		Neighbors: []float64{w.Next, w.Previous, w.SecondNext, w.SecondPrevious}, WAnswer: &w.Answer,
		WTarget: &w.Target, WDay: &w.Day, WMonth: &w.Month, WRecent: &w.Recent, RecentDays: &w.RecentDays,
		WUtility: &w.Utility, WType: maps.Clone(w.Types), FloorCosine: &w.MinCosine, FloorCover: &w.Cover,
		DupJaccard: &w.Duplicate, MMRLambda: &w.Diversity}
}
