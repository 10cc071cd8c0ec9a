package distill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

// prefers makes the model prefer the version that contains text.
func (m *model) prefers(text string) {
	m.answers["compare"] = func(p prompt.Material) (string, error) {
		for _, c := range p.Candidates {
			if strings.Contains(strings.Join(c.Experience, " "), text) {
				return fmt.Sprintf(`{"reason":"It says more.","better":%q}`, c.Handle), nil
			}
		}
		return `{"reason":"Neither.","better":"tie"}`, nil
	}
}

// improved creates an active skill, and a run whose update of it is ready to be published.
func (d *distilling) improved() (publish func() distill.CommitResult) {
	d.t.Helper()
	judged := func(r *distill.Request) { r.Spec.Quality = true }
	d.model.says("extract", draft("Wait 30 seconds before the next probe runs"))
	d.published(d.request(talk("Checkout"), judged))
	d.model.says("extract", update(map[string]any{"experience": []string{"Wait 30 seconds before the next probe runs",
		"Tell the team first"}}))
	ref, key := d.written(d.request(talk("Payments"), judged))
	testkit.Must(d.t, d.Judge(d.t.Context(), ref, key))
	return func() distill.CommitResult {
		d.t.Helper()
		c, err := d.Publish(d.t.Context(), ref, key)
		testkit.Must(d.t, err)
		if c.Compare {
			testkit.Must(d.t, d.Compare(d.t.Context(), ref, key))
			testkit.Must(d.t, d.Compare(d.t.Context(), ref, key)) // a repeated activity asks no more
			c, err = d.Publish(d.t.Context(), ref, key)
			testkit.Must(d.t, err)
		}
		return c
	}
}

func TestAnUpdateIsComparedBlindInBothOrders(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		say     func(*model)
		outcome distill.Outcome
	}{
		"the new version is better": {func(m *model) { m.prefers("Tell the team first") }, distill.Updated},
		"the current version is better": {func(m *model) {
			m.answers["compare"] = func(p prompt.Material) (string, error) {
				for _, c := range p.Candidates {
					if !strings.Contains(strings.Join(c.Experience, " "), "Tell the team first") {
						return fmt.Sprintf(`{"reason":"It is shorter.","better":%q}`, c.Handle), nil
					}
				}
				return "", nil
			}
		}, distill.Staged},
		"they are equal": {func(*model) {}, distill.Updated},
		"the model prefers a place": {func(m *model) {
			m.says("compare", `{"reason":"It.","better":"a"}`)
		}, distill.Updated},
		"the model gives no answer":      {func(m *model) { m.says("compare", "Both are fine.") }, distill.Updated},
		"the endpoint refuses to answer": {func(m *model) { m.fails("compare", llm.Fatal) }, distill.Updated},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			c.say(d.model)
			publish := d.improved()
			if got := publish(); got.Outcome != c.outcome || got.Compare {
				t.Errorf("ended as %+v, want %s", got, c.outcome)
			}
			if c.outcome != distill.Staged {
				return
			}
			p := d.waiting()
			if len(p) != 1 || !slices.ContainsFunc(p[0].Findings, func(f approval.Finding) bool {
				return f.Check == "compare" && strings.Contains(f.Text, "It is shorter.")
			}) {
				t.Errorf("the inbox has %+v", p)
			}
			if d.model.counts["compare"] != 2 {
				t.Errorf("compared %d times", d.model.counts["compare"])
			}
			shown := d.model.last["compare"]
			if len(shown.Candidates) != 2 || len(shown.Messages) == 0 || shown.Candidates[0].Handle != "a" {
				t.Errorf("the model was shown %+v", shown)
			}
		})
	}
}

func TestOnlyUpdatesThatWouldTakeEffectAreCompared(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.prefers("Tell the team first")
	publish := d.improved()
	d.Exec("update cairn.skills set pinned = true")
	if got := publish(); got.Outcome != distill.Staged || d.model.counts["compare"] != 0 {
		t.Errorf("a pinned skill: %+v after %d comparisons", got, d.model.counts["compare"])
	}
}
