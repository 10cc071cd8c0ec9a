package learning_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// ranked is a chooser without vectors: it takes the first candidates in the order of their IDs,
// rotated by a number that learning increases.
type ranked string

func (r ranked) Hash() string                                { return strings.Repeat("0", 63) + string(r) }
func (r ranked) Weights() int                                { return 1 }
func (ranked) Vector([]float32) []float64                    { return []float64{1} }
func (ranked) State(_ []float64, near [][]float64) []float64 { return []float64{float64(len(near))} }

func (r ranked) Choose(state []float64, candidates []policy.Candidate, how policy.Choice) (policy.Decision, error) {
	d := policy.Decision{State: state, Greedy: how.Greedy}
	for _, c := range candidates {
		d.Candidates, d.Logits = append(d.Candidates, c.ID), append(d.Logits, 0)
	}
	for i := range min(how.K, len(d.Candidates)) {
		d.Chosen = append(d.Chosen, d.Candidates[(i+int(r[0]-'0'))%len(d.Candidates)])
	}
	return d, nil
}

// updates returns the number of updates of a ranked chooser.
type updates string

func (u updates) Hash() string { return strings.Repeat("f", 63) + string(u) }
func (u updates) Steps() int   { return int(u[0] - '0') }

// counter learns by counting its updates.
type counter struct{ policy.Controller }

func (counter) Start(c policy.Chooser, o policy.Optimizer, _ policy.Form,
	_ keyedrand.Key) (policy.Chooser, policy.Optimizer, error) {
	if c != nil {
		return c, o, nil
	}
	return ranked("0"), updates("0"), nil
}

func (counter) Update(_ policy.Chooser, o policy.Optimizer,
	b policy.Batch) (policy.Chooser, policy.Optimizer, policy.Report, error) {
	next := string(rune('1' + o.Steps()))
	return ranked(next), updates(next), policy.Report{Decisions: len(b.Steps), Steps: 1}, nil
}

func (counter) Accepts(policy.Chooser, policy.Decision) bool { return true }

func (counter) Encode(c policy.Chooser, o policy.Optimizer) (chooser, optimizer []byte, err error) {
	return []byte(c.(ranked)), []byte(o.(updates)), nil
}

func (counter) Decode(chooser, optimizer []byte) (policy.Chooser, policy.Optimizer, error) {
	return ranked(chooser), updates(optimizer), nil
}

// The services work with any policy that chooses and learns: seeding, builds and trainings do not
// depend on the built-in policy.
func TestAnotherPolicyCanBePluggedIn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := pgtest.OpenLearning(t, func(p *learning.Ports) { p.Controller = counter{} })
	head, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	if head.Policy.Hash() != ranked("0").Hash() || head.Version.Policy != head.Policy.Hash() {
		t.Fatalf("%+v", head.Version)
	}
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	k := bank.DefaultSpanOptions()
	k.K = 2
	r, err := l.Builds.Accept(ctx, build.Request{Workspace: l.DB.A.ID, Spec: l.Spec(), Keeping: k,
		Messages: pgtest.Dialogue("The greenhouse has nine lemon trees.")})
	testkit.Must(t, err)
	_, err = l.Builds.BuildSpan(ctx, r.Ref, 0)
	testkit.Must(t, err)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		made, err := tx.Decisions().Decisions(ctx, r.Ref.Run)
		if err != nil || len(made) != 1 || len(made[0].Choice.Chosen) != 2 ||
			made[0].Choice.Policy != head.Policy.Hash() ||
			made[0].Choice.Chosen[0] != head.Bank.Versions()[0].ID {
			t.Errorf("%+v, %v", made, err)
		}
		return err
	}))
	l.Import(4)
	trains := train.Request{Workspace: l.DB.A.ID, Spec: train.Spec{RunSpec: l.Spec(), Stages: 1, Iterations: 1,
		Episodes: 1}}
	trains.Keeping.Tokens, trains.Keeping.K = 24, 4
	trained, err := l.Trainings.Accept(ctx, trains)
	testkit.Must(t, err)
	testkit.Must(t, l.Trainings.PlayEpisode(ctx, trained.Ref, 0, 0, 0))
	out, err := l.Trainings.Learn(ctx, trained.Ref, 0, 0)
	if err != nil || out.Policy != ranked("1").Hash() || out.Steps != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// starter records the runs that it starts.
type starter struct{ started []run.Run }

func (s *starter) Start(_ context.Context, _, _ string, r run.Run) error {
	s.started = append(s.started, r)
	return errors.New("no worker")
}

func TestARunThatIsNotStartedIsLeftToTheRelay(t *testing.T) {
	t.Parallel()
	s := &starter{}
	l := pgtest.OpenLearning(t, func(p *learning.Ports) { p.Starter = s })
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, Spec: l.Spec(),
		Keeping: bank.DefaultSpanOptions(), Messages: pgtest.Dialogue("The greenhouse has nine lemon trees.")})
	if err != nil || len(s.started) != 1 || s.started[0].Ref != r.Ref || l.DB.Rows("outbox") != "outbox 1" {
		t.Errorf("%v, %v, %s", s.started, err, l.DB.Rows("outbox"))
	}
}
