package world

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
)

// Rows of the table.
const (
	NoSkills    = "no skills (default salience)"
	AllSkills   = "all skills"
	RandomTopK  = "random Top-K"
	Static      = "static primitives"
	ContextFree = "best context-free set"
	RefineOnly  = "refine-only"
	Random      = "evolved, random choice"
	Learned     = "evolved, learned choice"
)

// Rows lists the rows in the order of the table.
var Rows = []string{NoSkills, AllSkills, RandomTopK, Static, ContextFree, RefineOnly, Random, Learned}

// Names maps the names of rows on the command line to rows.
var Names = map[string]string{"none": NoSkills, "all": AllSkills, "random": RandomTopK, "static": Static,
	"context-free": ContextFree, "refine-only": RefineOnly, "evolved-random": Random, "learned": Learned}

// Measure is the result of a row.
type Measure struct {
	Words    float64 `json:"answer_words"`
	Evidence float64 `json:"evidence"`
	F1       float64 `json:"f1"`
	Judge    float64 `json:"judge,omitempty"` // mean over the judged answers
	// Success is the share of tasks whose actions were all chosen correctly, or nil if the data has
	// no tasks.
	Success *float64 `json:"success,omitempty"`
}

// always chooses the same skills for every span.
func always(ids []string) chooser {
	return func(int, []float64) (policy.Decision, error) {
		return policy.Decision{Chosen: ids, Greedy: true}, nil
	}
}

// anyOf draws k skills for each span at random.
func anyOf(b memoryskill.Bank, k int, seed string) chooser {
	ids := idsOf(b)
	return func(n int, _ []float64) (policy.Decision, error) {
		d := policy.Decision{}
		for _, i := range policy.SampleTopK(make([]float64, len(ids)), ids, min(k, len(ids)),
			keyedrand.Key{Run: seed, Span: n, Purpose: "row"}) {
			d.Chosen = append(d.Chosen, ids[i])
		}
		return d, nil
	}
}

func idsOf(b memoryskill.Bank) (out []string) {
	for _, v := range b.Versions() {
		out = append(out, v.ID)
	}
	return out
}

// verbatim stores every sentence unchanged, while there is room.
func verbatim(t *trace) episodeResult {
	s := newStore(int(writeShare * float64(t.tokens)))
	behind := map[int][]string{}
	for _, sp := range t.spans {
		for _, h := range sp.heard {
			s.insert(strings.TrimSpace(h.Raw), []int{h.Index}, "")
		}
		s.fit()
	}
	var out episodeResult
	out.ask(t, s, behind)
	return out
}

// known caches the scores of fixed sets, which folds and seeds share.
var known sync.Map

func fixedScore(t *trace, b memoryskill.Bank, ids []string) (float64, error) {
	key := t.id + "|" + strings.Join(ids, "|")
	if score, ok := known.Load(key); ok {
		return score.(float64), nil
	}
	p, err := play(t, b, always(ids))
	if err == nil {
		known.Store(key, p.words)
	}
	return p.words, err
}

// contextFree returns the set of at most k skills that scores highest on the training conversations
// if every span uses it. It tries all sets. Noop skills are skipped.
func contextFree(train []*trace, b memoryskill.Bank, k int) (best []string, err error) {
	var ids []string
	for _, v := range b.Versions() {
		if v.Skill.Action != memoryskill.Noop {
			ids = append(ids, v.ID)
		}
	}
	if len(ids) > 12 {
		return nil, fmt.Errorf("cannot try all sets of %d skills: too many", len(ids))
	}
	most := -1.0
	for set := uint(1); set < 1<<len(ids); set++ {
		if bits.OnesCount(set) > k {
			continue
		}
		var chosen []string
		for i, id := range ids {
			if set>>i&1 == 1 {
				chosen = append(chosen, id)
			}
		}
		sum := 0.0
		for _, t := range train {
			words, err := fixedScore(t, b, chosen)
			if err != nil {
				return nil, err
			}
			sum += words
		}
		if sum > most {
			best, most = chosen, sum
		}
	}
	return slices.Clip(best), nil
}
