package e2e_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	livelearning "cairn/internal/service/learning/live"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// brought adds a skill to the default bank and returns its ID.
func brought(b *apptest.Bundle, name, description string) string {
	b.T.Helper()
	head, err := b.Learning.Banks.Import(b.T.Context(), b.Workspace.ID, bank.Default, skillFile(name, description))
	testkit.Must(b.T, err)
	v, _ := head.Bank.Get(name)
	return v.ID
}

// unbiased reports whether a choice used the policy's own probabilities.
func unbiased(d learning.Decision) bool { return d.Choice.Bias == 0 && len(d.Choice.Fresh) == 0 }

// biasOf returns what training adds to the logits of a decision's new skills at iteration t, and
// the resulting log-probability of the choice.
func biasOf(d learning.Decision, t int, fresh ...string) (bias, logProb float64) {
	isNew, chosen := make([]bool, len(d.Choice.Candidates)), []int{}
	for i, id := range d.Choice.Candidates {
		isNew[i] = slices.Contains(fresh, id)
	}
	bias = policy.DefaultExploration().Bias(d.Choice.Logits, isNew, t)
	z := slices.Clone(d.Choice.Logits)
	for i := range z {
		if isNew[i] {
			z[i] += bias
		}
	}
	for _, id := range d.Choice.Chosen {
		chosen = append(chosen, slices.Index(d.Choice.Candidates, id))
	}
	return bias, policy.LogProb(z, chosen)
}

// A new skill gets its share of the drawn live choices, which decreases after each 40 of them.
// It gets no share of the other choices.
func TestNewSkillsAreExploredInLiveChoices(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":1000}`)
	for _, d := range live(b, "seeded", 2) {
		if d.Choice.Greedy || !unbiased(d) {
			t.Errorf("a choice without new skills: %+v", d.Choice)
		}
	}
	dates := brought(b, "capture_dates", "Adds dates.")
	biased := 0
	for n, d := range live(b, "t", 2*livelearning.MinDecisions+4) {
		bias, logProb := biasOf(d, n/livelearning.MinDecisions, dates)
		if d.Choice.Greedy || math.Abs(d.Choice.Bias-bias) > 1e-12 || math.Abs(d.Choice.LogProb-logProb) > 1e-12 {
			t.Errorf("choice %d: bias %v, log π %v, want %v and %v", n, d.Choice.Bias, d.Choice.LogProb, bias, logProb)
		}
		if bias > 0 {
			if biased++; !slices.Equal(d.Choice.Fresh, []string{dates}) {
				t.Errorf("choice %d: new are %q", n, d.Choice.Fresh)
			}
		}
	}
	if biased == 0 {
		t.Error("no choice needed the bias, so nothing was tested")
	}

	// A later version has its own target, and the older version keeps its window. A policy update
	// in between adds no new skill.
	exec(b, `insert into cairn.bank_versions (workspace_id, bank_id, number, parent, action, bank_sha, capacity, `+
		`members, fresh, policy_sha, optimizer_sha, snapshot_sha)
select workspace_id, bank_id, 3, 2, 'adapt', bank_sha, capacity, members, fresh, policy_sha, optimizer_sha, `+
		`snapshot_sha from cairn.bank_versions where number = 2`)
	exec(b, "update cairn.banks set head = 3")
	if d := live(b, "updated", 1)[0]; !gotBias(d, 2, dates) {
		t.Errorf("after an update: bias %v of %q", d.Choice.Bias, d.Choice.Fresh)
	}
	places := brought(b, "capture_places", "Notes where somebody lives.")
	if d := live(b, "both", 1)[0]; d.Version != 4 || !gotBias(d, 0, dates, places) {
		t.Errorf("with a second one: version %d, bias %v of %q", d.Version, d.Choice.Bias, d.Choice.Fresh)
	}

	// After its window, a skill is no longer new.
	drawn := func(version, n int) {
		exec(b, `insert into cairn.decisions (workspace_id, id, run_id, conversation_id, span, from_seq, to_seq, `+
			`bank_id, bank_version, choice, sampled, created_at)
select workspace_id, 'past/' || $1::int || '/' || i, run_id, conversation_id, $1::int * 10000 + i, from_seq, `+
			`to_seq, bank_id, $1::int, choice, true, now() - interval '2 days' from cairn.decisions, `+
			`generate_series(1, $2::int) i where id = (select min(id) from cairn.decisions)`, version, n)
	}
	window := policy.DefaultExploration().Window * livelearning.MinDecisions
	drawn(2, window)
	if d := live(b, "known", 1)[0]; !gotBias(d, 0, places) {
		t.Errorf("after the window of the first: bias %v of %q", d.Choice.Bias, d.Choice.Fresh)
	}
	drawn(4, window-3) // two were
	if d := live(b, "last", 1)[0]; !gotBias(d, policy.DefaultExploration().Window-1, places) {
		t.Errorf("at the end of the window: bias %v of %q", d.Choice.Bias, d.Choice.Fresh)
	}
	if d := live(b, "over", 1)[0]; d.Choice.Greedy || !unbiased(d) {
		t.Errorf("after the window of both: bias %v of %q", d.Choice.Bias, d.Choice.Fresh)
	}
}

// gotBias reports whether a choice has the bias of training for these new skills.
func gotBias(d learning.Decision, t int, fresh ...string) bool {
	bias, logProb := biasOf(d, t, fresh...)
	slices.Sort(fresh)
	return !d.Choice.Greedy && math.Abs(d.Choice.Bias-bias) <= 1e-12 && math.Abs(d.Choice.LogProb-logProb) <= 1e-12 &&
		(bias == 0 || slices.Equal(d.Choice.Fresh, fresh))
}

// A choice that is not drawn follows the policy, even if skills are new.
func TestGreedyChoicesHaveNoBias(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	brought(b, "capture_dates", "Adds dates.")
	for name, settings := range map[string]string{"no budget": `{"explore_per_day":0}`,
		"frozen": `{"explore_per_day":1000,"frozen":true}`} {
		setLearning(b, settings)
		for _, d := range live(b, strings.ReplaceAll(name, " ", ""), 3) {
			best := policy.TopK(d.Choice.Logits, 1)[0]
			if !d.Choice.Greedy || !unbiased(d) || d.Choice.Chosen[0] != d.Choice.Candidates[best] {
				t.Errorf("%s: %+v", name, d.Choice)
			}
		}
	}
	setLearning(b, `{"explore_per_day":2,"frozen":false}`)
	drawn := 0
	for _, d := range live(b, "budget", 5) {
		if !d.Choice.Greedy {
			drawn++
		} else if !unbiased(d) {
			t.Errorf("beyond the budget: %+v", d.Choice)
		}
	}
	if drawn != 2 {
		t.Errorf("%d choices were drawn, want 2", drawn)
	}
}

// An update includes the bias of a choice. For the policy that made the choice, the importance
// weight is 1. Without the bias, the same choices would differ.
func TestAnUpdateLearnsFromBiasedChoices(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":1000}`)
	brought(b, "capture_dates", "Adds dates.")
	made := live(b, "t", 44)
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	vectors := map[string][]float64{}
	for _, v := range head.Bank.Versions() {
		of, err := b.Embedder.Embed(t.Context(), []string{v.Skill.Description})
		testkit.Must(t, err)
		vectors[v.ID] = head.Policy.Vector(of[0])
	}
	var steps, bare []policy.Step
	for _, d := range made {
		steps = append(steps, policy.Step{Decision: d.Choice.Decision, Credited: true})
		if d.Choice.Bias > 0 {
			d.Choice.Bias, d.Choice.Fresh = 0, nil
			bare = append(bare, policy.Step{Decision: d.Choice.Decision, Credited: true})
		}
	}
	if len(bare) == 0 {
		t.Fatal("no choice was biased")
	}
	weighed, err := policy.Reweigh(head.Policy.(policy.Policy), steps, vectors, policy.DefaultMaxWeight)
	testkit.Must(t, err)
	for _, step := range weighed {
		if math.Abs(step.Weight-1) > 1e-9 {
			t.Errorf("%s weighs %v for the policy that chose", step.ID, step.Weight)
		}
	}
	weighed, err = policy.Reweigh(head.Policy.(policy.Policy), bare, vectors, policy.DefaultMaxWeight)
	testkit.Must(t, err)
	for _, step := range weighed {
		if math.Abs(step.Weight-1) < 1e-3 {
			t.Errorf("%s weighs %v without its bias", step.ID, step.Weight)
		}
	}
	outcomes(b, made)
	got, _ := adaptOnce(b)
	if got.Outcome != livelearning.ShadowOnly || got.Decisions != len(made) || got.Shadow.OffPolicy.Effective < 30 {
		t.Errorf("%+v", got)
	}
}

// A worker that resumes a span uses the stored choice with its bias. The choice is drawn and
// counted once.
func TestABiasedChoiceIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":1000}`)
	brought(b, "capture_dates", "Adds dates.")
	r := buildSession(b, building(), func(r *build.Request) { r.Keeping.K = 1 })
	_, _, err := b.Learning.Builds.Open(t.Context(), r.Ref)
	testkit.Must(t, err)
	var kept []string
	for range 2 {
		for n := range 3 {
			_, err := b.Learning.Builds.BuildSpan(t.Context(), r.Ref, n)
			testkit.Must(t, err)
		}
		var now []string
		b.Within(func(ctx context.Context, q store.Tx) error {
			made, err := q.Decisions().Decisions(ctx, r.Ref.Run)
			for _, d := range made {
				now = append(now, fmt.Sprintf("%+v", d.Choice))
			}
			return err
		})
		if kept == nil {
			kept = now
		} else if !slices.Equal(kept, now) {
			t.Errorf("%q, then %q", kept, now)
		}
	}
}
