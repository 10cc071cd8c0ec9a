package loopbench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cairn/internal/fault"
	"cairn/internal/memskill"
)

// Table is what was measured on one kind of trace: by row, the mean over seeds of
// each fold.
type Table struct {
	Kind  string               `json:"kind"`
	Folds map[string][]Measure `json:"folds"`
	Went  []Went               `json:"runs"`
}

// Went tells of one run.
type Went struct {
	Fold     int      `json:"fold"`
	Seed     int      `json:"seed"`
	Skills   int      `json:"skills"` // of the evolved bank
	Rounds   int      `json:"rounds"`
	Promoted int      `json:"promoted"`
	Made     []string `json:"made,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	Chosen   []string `json:"context_free"`
}

// Kinds of traces.
const (
	Talk  = "LoCoMo"
	Mixed = "LoCoMo with tool logs of τ-bench"
)

// MeasureAll runs the experiment on talks, and on mixed traces when there are logs.
func MeasureAll(ctx context.Context, d Data, o Options) (out []Table, err error) {
	if len(d.Talks) < 3 {
		return nil, fault.New(fault.InvalidArgument, "fewer than three conversations leave none to train on", "")
	}
	var talks, both []*trace
	share := len(d.Logs) / len(d.Talks)
	for i, s := range d.Talks {
		t, err := ofLocomo(s)
		if err != nil {
			return nil, err
		}
		talks = append(talks, t)
		if share > 0 {
			if t, err = mixed(s, d.Logs[i*share:(i+1)*share]); err != nil {
				return nil, err
			}
			both = append(both, t)
		}
	}
	for _, k := range []struct {
		kind   string
		traces []*trace
		skip   bool
	}{{Talk, talks, o.MixedOnly}, {Mixed, both, len(both) == 0}} {
		if k.skip {
			continue
		}
		table, err := measure(ctx, k.kind, k.traces, o)
		if err != nil {
			return out, err
		}
		out = append(out, table)
	}
	return out, nil
}

func measure(ctx context.Context, kind string, traces []*trace, o Options) (Table, error) {
	folds := min(o.Folds, len(traces))
	out := Table{Kind: kind, Folds: map[string][]Measure{}, Went: make([]Went, folds*o.Seeds)}
	for _, row := range Rows {
		out.Folds[row] = make([]Measure, folds)
	}
	results := make([]map[string]Measure, folds*o.Seeds)
	errs := make([]error, folds*o.Seeds)
	places := make(chan struct{}, max(1, o.Workers))
	var all sync.WaitGroup
	for i := range results {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			results[i], out.Went[i], errs[i] = fold(ctx, kind, traces, i/o.Seeds, i%o.Seeds, o)
			o.Log("%s: fold %d, seed %d: static %.3f, learned %.3f", kind, i/o.Seeds, i%o.Seeds, results[i][Static].Words, results[i][Learned].Words)
		})
	}
	all.Wait()
	for i, r := range results {
		for row, m := range r {
			mean := &out.Folds[row][i/o.Seeds]
			n := float64(o.Seeds)
			mean.Words, mean.Evidence, mean.F1 = mean.Words+m.Words/n, mean.Evidence+m.Evidence/n, mean.F1+m.F1/n
		}
	}
	return out, errors.Join(errs...)
}

// fold is one run: it is tested on one conversation, selects on the next, and
// trains on the others.
func fold(ctx context.Context, kind string, traces []*trace, n, seed int, o Options) (map[string]Measure, Went, error) {
	went := Went{Fold: n, Seed: seed}
	test, selection := traces[n], traces[(n+1)%len(traces)]
	var train []*trace
	for _, t := range traces {
		if t != test && t != selection {
			train = append(train, t)
		}
	}
	recipe, err := memskill.NewRecipe(memskill.TargetRecipe)
	if err != nil {
		return nil, went, err
	}
	l := learner{Options: o, seed: fmt.Sprintf("%s/%d/%d", kind, n, seed), recipe: recipe, train: train, selection: selection}
	evolved, err := l.learn()
	if err != nil {
		return nil, went, fmt.Errorf("learn: %w", err)
	}
	l.refineOnly = true
	refined, err := l.learn()
	if err != nil {
		return nil, went, fmt.Errorf("learn by refining only: %w", err)
	}
	seedBank, err := memskill.SeedBank(capacity, true)
	if err != nil {
		return nil, went, err
	}
	best, err := contextFree(train, evolved.bank, o.K)
	if err != nil {
		return nil, went, err
	}
	learned, err := evolved.greedy(o.K)
	if err != nil {
		return nil, went, err
	}
	narrow, err := refined.greedy(o.K)
	if err != nil {
		return nil, went, err
	}
	went.Skills, went.Rounds, went.Promoted, went.Made, went.Refused, went.Chosen = evolved.bank.Len(), evolved.Rounds, evolved.Promoted, evolved.Made, evolved.Refused, best
	out := map[string]Measure{}
	for _, row := range []struct {
		name   string
		bank   memskill.Bank
		choose chooser
	}{
		{NoSkills, memskill.Bank{}, nil}, {AllSkills, evolved.bank, always(idsOf(evolved.bank))}, {RandomTopK, seedBank, anyOf(seedBank, o.K, l.seed)}, {Static, seedBank, always(idsOf(seedBank))},
		{ContextFree, evolved.bank, always(best)}, {RefineOnly, refined.bank, narrow}, {Random, evolved.bank, anyOf(evolved.bank, o.K, l.seed)}, {Learned, evolved.bank, learned},
	} {
		var p played
		if row.choose == nil {
			p = verbatim(test)
		} else if p, err = play(test, row.bank, row.choose); err != nil {
			return nil, went, fmt.Errorf("%s: %w", row.name, err)
		}
		if err := p.f1(ctx, test); err != nil {
			return nil, went, fmt.Errorf("answer for %s: %w", row.name, err)
		}
		out[row.name] = p.measure()
	}
	return out, went, nil
}

func (p played) measure() (m Measure) {
	n := float64(len(p.asked))
	for _, a := range p.asked {
		m.Words, m.Evidence, m.F1 = m.Words+a.words/n, m.Evidence+a.evidence/n, m.F1+a.f1/n
	}
	return m
}
