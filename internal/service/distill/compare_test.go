package distill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
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

// improved creates an active skill, and a run whose update of it is ready to be published. prepare runs between.
func (d *distilling) improved(prepare ...func()) (publish func() contract.PublishResult) {
	d.t.Helper()
	judged := func(r *distill.Request) { r.Spec.Quality = true }
	d.model.says("extract", draft("Wait 30 seconds before the next probe runs"))
	ref, key := d.written(d.request(talk("Checkout"), judged))
	testkit.Must(d.t, d.Judge(d.t.Context(), pgtest.TaskRef(ref, key)))
	_, err := d.Publish(d.t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(d.t, err)
	for _, do := range prepare {
		do()
	}
	d.model.says("extract", update(map[string]any{"experience": []string{"Wait 30 seconds before the next probe runs",
		"Tell the team first"}}))
	ref, key = d.written(d.request(talk("Payments"), judged))
	testkit.Must(d.t, d.Judge(d.t.Context(), pgtest.TaskRef(ref, key)))
	return func() contract.PublishResult {
		d.t.Helper()
		c, err := d.Publish(d.t.Context(), pgtest.TaskRef(ref, key))
		testkit.Must(d.t, err)
		if c.Compare {
			testkit.Must(d.t, d.Compare(d.t.Context(), pgtest.TaskRef(ref, key)))
			testkit.Must(d.t, d.Compare(d.t.Context(), pgtest.TaskRef(ref, key))) // a repeated activity asks no more
			c, err = d.Publish(d.t.Context(), pgtest.TaskRef(ref, key))
			testkit.Must(d.t, err)
		}
		return c
	}
}

func TestAnUpdateIsComparedBlindInBothOrders(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		say     func(*model)
		outcome distillation.Outcome
	}{
		"the new version is better": {func(m *model) { m.prefers("Tell the team first") }, distillation.Updated},
		"the current version is better": {func(m *model) {
			m.answers["compare"] = func(p prompt.Material) (string, error) {
				for _, c := range p.Candidates {
					if !strings.Contains(strings.Join(c.Experience, " "), "Tell the team first") {
						return fmt.Sprintf(`{"reason":"It is shorter.","better":%q}`, c.Handle), nil
					}
				}
				return "", nil
			}
		}, distillation.Staged},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			c.say(d.model)
			publish := d.improved()
			if got := publish(); got.Outcome != string(c.outcome) || got.Compare {
				t.Errorf("ended as %+v, want %s", got, c.outcome)
			}
			if c.outcome != distillation.Staged {
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

// Each model call of the gate, in each way in which it can give no verdict: the update of an active skill waits.
func TestAnUpdateWithoutAVerdictWaits(t *testing.T) {
	t.Parallel()
	says := func(text string) func(*distilling, string) {
		return func(d *distilling, role string) { d.model.says(role, text) }
	}
	fails := func(c llm.Class) func(*distilling, string) {
		return func(d *distilling, role string) { d.model.fails(role, c) }
	}
	for role, ways := range map[string]map[string]func(*distilling, string){
		"judge": {
			"no answer":            says("Both are fine."),
			"an incomplete answer": says(`{"reason":"Splendid."}`),
			"a refused request":    fails(llm.Fatal),
			"a refused key":        fails(llm.Auth),
			"a reply too large":    fails(llm.Invalid),
		},
		"compare": {
			"no answer":         says("Both are fine."),
			"an unknown answer": says(`{"reason":"Splendid.","better":"both"}`),
			"a refused request": fails(llm.Fatal),
			"a refused key":     fails(llm.Auth),
			"always the first":  says(`{"reason":"It.","better":"a"}`),
			"always the second": says(`{"reason":"It.","better":"b"}`),
			"a tie":             says(`{"reason":"Neither.","better":"tie"}`),
			"the first, and then neither": answersInTurn(`{"reason":"A.","better":"a"}`,
				`{"reason":"B.","better":"tie"}`),
			"the quota is spent": func(d *distilling, role string) {
				d.model.answers[role] = func(prompt.Material) (string, error) {
					return "", fault.New(fault.QuotaExceeded, "the tokens of the day are spent", "")
				}
			},
		},
	} {
		for way, spoil := range ways {
			t.Run(role+"/"+way, func(t *testing.T) {
				t.Parallel()
				d := setup(t)
				d.model.prefers("Tell the team first")
				publish := d.improved(func() { spoil(d, role) })
				if got := publish(); got.Outcome != string(distillation.Staged) || got.Version != 1 {
					t.Fatalf("ended as %+v", got)
				}
				p := d.waiting()
				if len(p) != 1 || len(p[0].Findings) != 1 || p[0].Findings[0].Check != role ||
					p[0].Findings[0].Severity != approval.Review || p[0].Findings[0].Text == "" {
					t.Errorf("the inbox has %+v", p)
				}
			})
		}
	}
}

// answersInTurn makes the model give one answer after the other.
func answersInTurn(texts ...string) func(*distilling, string) {
	return func(d *distilling, role string) {
		n := 0
		d.model.answers[role] = func(prompt.Material) (string, error) {
			n++
			return texts[(n-1)%len(texts)], nil
		}
	}
}

func TestOnlyUpdatesThatWouldTakeEffectAreCompared(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.prefers("Tell the team first")
	publish := d.improved()
	d.Exec("update cairn.skills set pinned = true")
	if got := publish(); got.Outcome != string(distillation.Staged) || d.model.counts["compare"] != 0 {
		t.Errorf("a pinned skill: %+v after %d comparisons", got, d.model.counts["compare"])
	}
}
