package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// Table is the result of one kind of traces: for each row, the mean over seeds of each fold.
type Table struct {
	Kind  string               `json:"kind"`
	Folds map[string][]Measure `json:"folds"`
	Runs  []RunSummary         `json:"runs"`
}

// RunSummary describes one run.
type RunSummary struct {
	Fold     int      `json:"fold"`
	Seed     int      `json:"seed"`
	Skills   int      `json:"skills"` // in the evolved bank
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

// MeasureAll runs the experiment on conversations, and on mixed traces if there are logs.
func MeasureAll(ctx context.Context, d Data, o Options) (out []Table, err error) {
	if len(d.Talks) < 3 && (needs(o.rows(), RefineOnly) || needs(o.rows(), evolvedRows...)) {
		return nil, fault.New(fault.InvalidArgument, "learning requires at least three conversations",
			"use more conversations, or measure only rows that do not learn")
	}
	var talks, both []*trace
	share := len(d.Logs) / len(d.Talks)
	for i, s := range d.Talks {
		t, err := ofLocomo(s, o)
		if err != nil {
			return nil, err
		}
		talks = append(talks, t)
		if share > 0 {
			if t, err = mixed(s, d.Logs[i*share:(i+1)*share], o); err != nil {
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
	if o.Answers == nil {
		return Table{}, fault.New(fault.Internal, "evaluation requires an answering model", "")
	}
	folds := min(o.Folds, len(traces))
	out := Table{Kind: kind, Folds: map[string][]Measure{}, Runs: make([]RunSummary, folds*o.Seeds)}
	for _, row := range o.rows() {
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
			results[i], out.Runs[i], errs[i] = fold(ctx, kind, traces, i/o.Seeds, i%o.Seeds, o)
			o.Log("%s: fold %d, seed %d is done", kind, i/o.Seeds, i%o.Seeds)
		})
	}
	all.Wait()
	for i, r := range results {
		for row, m := range r {
			mean := &out.Folds[row][i/o.Seeds]
			n := float64(o.Seeds)
			mean.Words, mean.Evidence, mean.F1, mean.Judge = mean.Words+m.Words/n, mean.Evidence+m.Evidence/n,
				mean.F1+m.F1/n, mean.Judge+m.Judge/n
			if m.Success != nil {
				if mean.Success == nil {
					mean.Success = new(float64)
				}
				*mean.Success += *m.Success / n
			}
		}
	}
	return out, errors.Join(errs...)
}

// opponent returns the bank of a row and its chooser. The chooser is nil if the row chooses
// elsewhere.
func (l learner) opponent(row string, evolved, refined evolution,
	seedBank memoryskill.Bank) (memoryskill.Bank, chooser, error) {
	switch row {
	case NoSkills, ContextFree:
		return evolved.bank, nil, nil
	case AllSkills:
		return evolved.bank, always(idsOf(evolved.bank)), nil
	case RandomTopK:
		return seedBank, anyOf(seedBank, l.K, l.seed), nil
	case Static:
		return seedBank, always(idsOf(seedBank)), nil
	case RefineOnly:
		choose, err := refined.greedy(l.K)
		return refined.bank, choose, err
	case Random:
		return evolved.bank, anyOf(evolved.bank, l.K, l.seed), nil
	case Learned:
		choose, err := evolved.greedy(l.K)
		return evolved.bank, choose, err
	}
	return evolved.bank, nil, fmt.Errorf("invalid row %q", row)
}

// fold runs one experiment: it tests on one conversation, selects on the next, and trains on the
// others.
func fold(ctx context.Context, kind string, traces []*trace, n, seed int, o Options) (
	map[string]Measure, RunSummary, error) {
	went := RunSummary{Fold: n, Seed: seed}
	test, selection := traces[n], traces[(n+1)%len(traces)]
	train := slices.DeleteFunc(slices.Clone(traces), func(t *trace) bool { return t == test || t == selection })
	recipe, err := memoryskill.NewRecipe(memoryskill.TargetRecipe)
	if err != nil {
		return nil, went, err
	}
	l := learner{Options: o, seed: fmt.Sprintf("%s/%d/%d", kind, n, seed), recipe: recipe, train: train,
		selection: selection,
		cache:     &cache{improved: map[string]standing{}, tried: map[string][]episodeResult{}}}
	if len(test.questions) == 0 {
		return nil, went, fault.New(fault.InvalidArgument,
			"no question of "+test.id+" has an answer in its evidence", "")
	}
	seedBank, err := memoryskill.SeedBank(capacity, true)
	if err != nil {
		return nil, went, err
	}
	evolved, refined, err := l.both(o.rows())
	if err != nil {
		return nil, went, err
	}
	went.Skills, went.Rounds, went.Promoted, went.Made, went.Refused = evolved.bank.Len(), evolved.Rounds,
		evolved.Promoted, evolved.Made, evolved.Refused
	if o.Limit > 0 && o.Limit < len(test.questions) {
		short := *test
		short.questions = test.questions[:o.Limit]
		test = &short
	}
	out := map[string]Measure{}
	for _, row := range o.rows() {
		var p episodeResult
		bank, choose, err := l.opponent(row, evolved, refined, seedBank)
		if row == ContextFree && err == nil {
			if went.Chosen, err = contextFree(train, bank, o.K); err == nil {
				choose = always(went.Chosen)
			}
		}
		if row == NoSkills {
			p = verbatim(test)
		}
		if err == nil && choose != nil {
			p, err = playAtOnce(test, bank, choose, o.SessionWorkers)
		}
		if err == nil {
			err = o.Answers.answer(ctx, test, &p)
		}
		if err != nil {
			return nil, went, fmt.Errorf("%s: %w", row, err)
		}
		m := p.measure()
		if rate, known := p.success(test); known {
			m.Success = &rate
		}
		out[row] = m
	}
	return out, went, nil
}

// evolvedRows are the rows of the bank that evolved with all edits.
var evolvedRows = []string{AllSkills, ContextFree, Random, Learned}

func needs(rows []string, any ...string) bool {
	return slices.ContainsFunc(rows, func(row string) bool { return slices.Contains(any, row) })
}

// both learns with all edits and with refinements only, as far as the rows need it. Both start from
// the same training.
func (l learner) both(rows []string) (evolved, refined evolution, err error) {
	narrow, wide := needs(rows, RefineOnly), needs(rows, evolvedRows...)
	if !narrow && !wide {
		return evolved, refined, nil
	}
	from, err := l.start()
	if err != nil {
		return evolved, refined, fmt.Errorf("train: %w", err)
	}
	if wide {
		if evolved, err = l.learn(from); err != nil {
			return evolved, refined, fmt.Errorf("evolve: %w", err)
		}
	}
	if narrow {
		l.refineOnly = true
		if refined, err = l.learn(from); err != nil {
			return evolved, refined, fmt.Errorf("refine: %w", err)
		}
	}
	return evolved, refined, nil
}

func (p episodeResult) measure() (m Measure) {
	n, judged := float64(len(p.questions)), 0
	for _, a := range p.questions {
		m.Words, m.Evidence, m.F1 = m.Words+a.words/n, m.Evidence+a.evidence/n, m.F1+a.f1/n
		if a.judged {
			m.Judge += a.judge
			judged++
		}
	}
	m.Judge /= float64(max(1, judged))
	return m
}
