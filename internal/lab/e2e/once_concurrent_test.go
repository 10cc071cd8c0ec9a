package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Case E10.

func held(r *openaitest.Rule) { r.Barrier = "extract" }

// lessons returns the lessons of the active version of the only skill.
func (p *protocol) lessons() (out []string) {
	p.t.Helper()
	p.Within(func(ctx context.Context, q store.Tx) error {
		head, err := q.Skills().SkillNamed(ctx, "service-deployment-rollback")
		if err != nil {
			return err
		}
		v, err := q.Skills().Version(ctx, head.ID, head.Version)
		out = skill.ParseBody(v.Body).Experience
		return err
	})
	slices.Sort(out)
	return out
}

// linear checks that versions 1, 2, … are each based on the previous one.
func (p *protocol) linear(versions int) {
	p.t.Helper()
	if n := p.number("select count(*) from skill_versions where base_version <> version - 1"); n != 0 {
		p.t.Errorf("%d versions were not made on the one before", n)
	}
	if n := p.number("select max(version) from skill_versions"); n != versions {
		p.t.Errorf("the last version is %d, want %d", n, versions)
	}
	if n := p.number("select head_version from skills"); n != versions {
		p.t.Errorf("the head is version %d, want %d", n, versions)
	}
	for v := 2; v <= versions; v++ { // nothing that a version knew is missing in the next
		p.Within(func(ctx context.Context, q store.Tx) error {
			head, err := q.Skills().SkillNamed(ctx, "service-deployment-rollback")
			if err != nil {
				return err
			}
			before, err := q.Skills().Version(ctx, head.ID, v-1)
			if err != nil {
				return err
			}
			after, err := q.Skills().Version(ctx, head.ID, v)
			for _, l := range skill.ParseBody(before.Body).Experience {
				if !slices.Contains(skill.ParseBody(after.Body).Experience, l) {
					p.t.Errorf("version %d lost %q", v, l)
				}
			}
			return err
		})
	}
}

func TestTwoCreationsOfOneNameAtOnceAreOneSkill(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	words := []string{"alpha", "beta"}
	p.scriptText(func(c openaitest.Call) string { return lesson(wordOf(c, words...)) }, held)
	var refs []run.Ref
	for _, w := range words {
		refs = append(refs, p.begin(named(w, w)).Ref)
	}
	p.atBarrier("extract", 2)
	p.Model.Release("extract")
	var outcomes []distillation.Outcome
	for _, ref := range refs {
		r := p.Wait(ref)
		outcomes = append(outcomes, r.Tasks[0].Outcome)
		if r.Outcome != run.Completed {
			t.Errorf("run %s ended as %s: %s", ref.Run, r.Outcome, r.Reason)
		}
	}
	slices.Sort(outcomes)
	if !slices.Equal(outcomes, []distillation.Outcome{distillation.Created, distillation.Updated}) {
		t.Errorf("outcomes %v, want one created and one updated", outcomes)
	}
	p.skills(1, 2)
	p.linear(2)
	if got := p.lessons(); !slices.Equal(got, []string{"Lesson of alpha", "Lesson of beta"}) {
		t.Errorf("the skill has learnt %q", got)
	}
	p.asked("segment 2, extract 2")
}

func TestConcurrentUpdatesOfOneSkillAreLinear(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	words := []string{"first", "alpha", "beta", "gamma", "delta"}
	p.scriptText(func(c openaitest.Call) string { return lesson(wordOf(c, words...)) }, func(r *openaitest.Rule) {
		r.Match = "first: Checkout"
	})
	p.Model.On(openaitest.Rule{Stage: "extract", Barrier: "extract", ReplyFunc: func(c openaitest.Call) string {
		return lesson(wordOf(c, words...))
	}})
	p.ended(p.Distill(named("first", "first")), run.Completed, distillation.Created)
	var refs []run.Ref
	for _, w := range words[1:] {
		refs = append(refs, p.begin(named(w, w)).Ref)
	}
	p.atBarrier("extract", len(refs))
	p.Model.Release("extract")
	for _, ref := range refs {
		p.ended(p.Wait(ref), run.Completed, distillation.Updated)
	}
	p.skills(1, len(words))
	p.linear(len(words))
	var want []string
	for _, w := range words {
		want = append(want, fmt.Sprintf("Lesson of %s", w))
	}
	slices.Sort(want)
	if got := p.lessons(); !slices.Equal(got, want) {
		t.Errorf("the skill has learnt %q, want %q", got, want)
	}
}
