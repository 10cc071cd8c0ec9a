package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

const (
	banditKind      = "cairnban"
	banditStateKind = "cairnbst"
)

// BanditUpdates counts the updates of a bandit.
type BanditUpdates int

// Steps returns the number of updates.
func (n BanditUpdates) Steps() int { return int(n) }

func (n BanditUpdates) blob() []byte { return encodeBlob(banditStateKind, adamHeader{int(n)}) }

// Hash identifies the number of updates: 64 hexadecimal digits.
func (n BanditUpdates) Hash() string { return hashOf(n.blob()) }

// ThompsonLearner is the controller that makes and trains bandits. Its updates need neither importance weights nor
// several epochs: a model of the reward is right for decisions of any chooser.
type ThompsonLearner struct{}

// Start keeps a bandit with the fusion of f. An untrained bandit has no statistics.
func (ThompsonLearner) Start(c Chooser, o Optimizer, f Form, _ keyedrand.Key) (Chooser, Optimizer, error) {
	form := banditForm{Dim: f.Dim}
	if c != nil {
		b, err := banditOf(c)
		if err != nil {
			return nil, nil, err
		}
		form = b.form
	}
	shape, err := form.shape().Fused(f.Fuse, f.Temperature)
	if err != nil {
		return nil, nil, err
	}
	if c != nil && shape == form.shape() {
		return c, o, nil
	}
	fresh := banditForm{Dim: f.Dim, Fuse: shape.Fuse, Temperature: shape.Temperature}
	return newBandit(fresh, nil), BanditUpdates(0), fresh.shape().Check()
}

// Update adds the credited decisions to the statistics of the skills that they chose. The reward of a
// decision is the sum of the contributions of its skills: each skill learns from what the others do
// not explain.
func (ThompsonLearner) Update(c Chooser, o Optimizer, batch Batch) (Chooser, Optimizer, Report, error) {
	b, err := banditOf(c)
	if err != nil {
		return c, o, Report{}, err
	}
	n, ok := o.(BanditUpdates)
	if !ok {
		return c, o, Report{}, fmt.Errorf("the optimizer is a %T, not BanditUpdates", o)
	}
	if len(batch.Steps) == 0 {
		return c, o, Report{}, fault.Newf(fault.InvalidArgument, "an update needs at least one decision")
	}
	report := Report{Decisions: len(batch.Steps), Epochs: 1, Steps: 1}
	var steps []Step
	for _, s := range batch.Steps {
		if err := b.check(s, batch.Vectors); err != nil {
			return c, o, report, err
		}
		if s.Credited {
			steps = append(steps, s)
		}
	}
	report.Credited = len(steps)
	expected := b.contributions(steps, batch.Vectors)
	shift := level(steps, expected)
	arms := b.faded()
	for t, s := range steps {
		rest := s.Reward + shift - sum(expected[t])
		report.First.Value += rest * rest / 2 / float64(len(steps))
		for j, id := range s.Chosen {
			arms = b.learn(arms, id, batch.Vectors[id], inputs(s.State), rest+expected[t][j])
		}
	}
	after := newBandit(b.form, kept(slices.Clone(arms)))
	if batch.MaxKL > 0 {
		after, report.MeanKL, report.Kept, err = limited(b, after, func(share float64) Bandit {
			return b.between(arms, share)
		}, batch)
	}
	return after, n + 1, report, err
}

// between returns the bandit with a share of the change to the statistics of arms, which include those
// of all arms of b.
func (b Bandit) between(arms []arm, share float64) Bandit {
	mix := func(before, after []float64) []float64 {
		out := make([]float64, len(after))
		for i, x := range after {
			out[i] = share * x
			if before != nil {
				out[i] += (1 - share) * before[i]
			}
		}
		return out
	}
	mixed := make([]arm, len(arms))
	for i, a := range arms {
		was := arm{}
		if at, there := find(b.arms, a.id); there {
			was = b.arms[at]
		}
		mixed[i] = arm{a.id, was.count + share*(a.count-was.count), a.vector, mix(was.precision, a.precision),
			mix(was.target, a.target)}
	}
	return newBandit(b.form, kept(mixed))
}

// contributions returns the expected contribution of each chosen skill, by step.
func (b Bandit) contributions(steps []Step, vectors map[string][]float64) [][]float64 {
	out := make([][]float64, len(steps))
	for t, s := range steps {
		for _, id := range s.Chosen {
			mean, _ := b.posterior(Candidate{ID: id, Vector: vectors[id]}).predict(inputs(s.State))
			out[t] = append(out[t], mean)
		}
	}
	return out
}

// level returns the number that makes the mean of the rewards the expected one. Rewards are relative
// to a baseline that rises with the policy; without the level, what was learned early would look
// better than it is.
func level(steps []Step, expected [][]float64) float64 {
	out := 0.0
	for t, s := range steps {
		out += (sum(expected[t]) - s.Reward) / float64(len(steps))
	}
	return out
}

func sum(numbers []float64) (out float64) {
	for _, x := range numbers {
		out += x
	}
	return out
}

// faded returns a copy of the arms with statistics of less weight.
func (b Bandit) faded() []arm {
	fade := func(v []float64) []float64 {
		out := make([]float64, len(v))
		for i, x := range v {
			out[i] = forgetting * x
		}
		return out
	}
	arms := make([]arm, len(b.arms))
	for i, a := range b.arms {
		arms[i] = arm{a.id, forgetting * a.count, a.vector, fade(a.precision), fade(a.target)}
	}
	return arms
}

func (b Bandit) check(s Step, vectors map[string][]float64) error {
	switch {
	case len(s.State) != 2*b.form.Dim:
		return fmt.Errorf("decision %q: state: %w", s.ID, wrongLength(len(s.State), 2*b.form.Dim))
	case len(s.Chosen) == 0:
		return fault.Newf(fault.InvalidArgument, "decision %q has no choice, or a repeated one", s.ID)
	case notFinite(s.Reward) || notFinite(s.State...):
		return fault.Newf(fault.InvalidArgument, "decision %q has a number that is not finite", s.ID)
	}
	for _, id := range s.Chosen {
		if len(vectors[id]) != b.form.Dim {
			return fmt.Errorf("skill %q: %w", id, wrongLength(len(vectors[id]), b.form.Dim))
		}
	}
	_, err := s.indices(s.Chosen)
	return err
}

// learn adds a target to the arm of a skill, which is created if it does not exist.
func (b Bandit) learn(arms []arm, id string, vector, x []float64, target float64) []arm {
	at, there := find(arms, id)
	if !there {
		n := b.form.features()
		arms = slices.Insert(arms, at, arm{id: id, vector: slices.Clone(vector), precision: make([]float64, n*(n+1)/2),
			target: make([]float64, n)})
	}
	a := &arms[at]
	a.count++
	for i, xi := range x {
		row := a.precision[i*(i+1)/2:]
		for j := range i + 1 {
			row[j] += xi * x[j]
		}
		a.target[i] += target * xi
	}
	return arms
}

// find returns the position of the arm of a skill, or the one where it belongs.
func find(arms []arm, id string) (at int, there bool) {
	return slices.BinarySearchFunc(arms, id, func(a arm, id string) int { return strings.Compare(a.id, id) })
}

// kept drops the arms with the fewest decisions beyond maxArms.
func kept(arms []arm) []arm {
	for len(arms) > maxArms {
		least := 0
		for i, a := range arms {
			if a.count < arms[least].count {
				least = i
			}
		}
		arms = slices.Delete(arms, least, least+1)
	}
	return arms
}

// Accepts reports whether the decision's state has the length of the bandit's states.
func (ThompsonLearner) Accepts(c Chooser, d Decision) bool {
	b, err := banditOf(c)
	return err == nil && len(d.State) == 2*b.form.Dim
}

// Encode encodes a bandit and the number of its updates.
func (ThompsonLearner) Encode(c Chooser, o Optimizer) (chooser, optimizer []byte, err error) {
	b, err := banditOf(c)
	if err != nil {
		return nil, nil, err
	}
	n, ok := o.(BanditUpdates)
	if !ok {
		return nil, nil, fmt.Errorf("the optimizer is a %T, not BanditUpdates", o)
	}
	return b.blob(), n.blob(), nil
}

func (b Bandit) blob() []byte {
	var numbers [][]float64
	for _, a := range b.arms {
		numbers = append(numbers, []float64{a.count}, a.vector, a.precision, a.target)
	}
	return encodeBlob(banditKind, b.form, numbers...)
}

// Hash returns the SHA-256 of the stored form, which identifies the bandit: 64 hexadecimal digits.
func (b Bandit) Hash() string { return hashOf(b.blob()) }

// Decode decodes a bandit and the number of its updates.
func (ThompsonLearner) Decode(chooser, optimizer []byte) (Chooser, Optimizer, error) {
	b, err := parseBandit(chooser)
	if err != nil {
		return nil, nil, err
	}
	var header adamHeader
	numbers, err := decodeBlob(banditStateKind, optimizer, &header)
	if err != nil {
		return nil, nil, err
	}
	n := BanditUpdates(header.Steps)
	if len(numbers) > 0 || n < 0 || !bytes.Equal(n.blob(), optimizer) {
		return nil, nil, fault.Newf(fault.InvalidArgument, "invalid number of updates in the bandit's file")
	}
	return b, n, nil
}

func parseBandit(blob []byte) (Bandit, error) {
	var form banditForm
	numbers, err := decodeBlob(banditKind, blob, &form)
	if err != nil {
		return Bandit{}, err
	}
	if err := form.shape().Check(); err != nil {
		return Bandit{}, err
	}
	n := form.features()
	sizes := []int{1, form.Dim, n * (n + 1) / 2, n}
	if len(form.Arms) > maxArms || len(numbers) != len(form.Arms)*(sizes[0]+sizes[1]+sizes[2]+sizes[3]) {
		return Bandit{}, fault.Newf(fault.InvalidArgument, "the bandit has %d numbers for %d skills", len(numbers),
			len(form.Arms))
	}
	next := func(n int) (part []float64) {
		part, numbers = numbers[:n:n], numbers[n:]
		return part
	}
	var arms []arm
	for _, id := range form.Arms {
		a := arm{id, next(sizes[0])[0], next(sizes[1]), next(sizes[2]), next(sizes[3])}
		if a.count < 0 || !definite(a.precision, n) {
			return Bandit{}, fault.Newf(fault.InvalidArgument, "the bandit has invalid statistics of skill %q", id)
		}
		arms = append(arms, a)
	}
	b := newBandit(form, arms)
	if !ascending(form.Arms) || !bytes.Equal(b.blob(), blob) {
		return Bandit{}, fault.Newf(fault.InvalidArgument, "non-canonical header in the bandit file")
	}
	return b, nil
}

// definite reports whether a matrix and the prior are a precision.
func definite(precision []float64, n int) bool {
	m := slices.Clone(precision)
	for i := range n {
		m[i*(i+1)/2+i] += priorPrecision
	}
	factorize(m, n)
	return !notFinite(m...)
}

func banditOf(c Chooser) (Bandit, error) {
	b, ok := c.(Bandit)
	if !ok {
		return Bandit{}, fmt.Errorf("the chooser is a %T, not a Bandit", c)
	}
	return b, nil
}
