package taubench

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// sample returns every eighth trajectory of the public data, or the trajectory in the
// repository if the data is missing.
func sample(t *testing.T) []transcript.Conversation {
	t.Helper()
	raw := samples.Airline
	every := 1
	if path := samples.Public("tau/airline-train.json"); path != "" {
		var err error
		raw, err = os.ReadFile(path)
		testkit.Must(t, err)
		every = 8
	} else {
		t.Log("no public τ-bench data (CAIRN_DATA): using the trajectory in the repository")
	}
	result, err := intake.Read("airline", bytes.NewReader(raw), intake.Options{})
	testkit.Must(t, err)
	all := result.Conversations
	var out []transcript.Conversation
	for i := 0; i < len(all); i += every {
		out = append(out, all[i])
	}
	return out
}

func TestSkillsOfRealConversationsAreGeneral(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.BaseURL, c.APIKey, c.Model, c.NameStyle = "", "", "", "hyphen" })
	lab := Lab{App: b.App, Workspace: b.Workspace}
	conversations := sample(t)
	r, err := lab.Distil(t.Context(), conversations, 2, true)
	testkit.Must(t, err)
	for _, e := range r.Errors {
		t.Error(e)
	}
	for _, leak := range r.Leaks {
		t.Errorf("skill %s holds the %s %q", leak.Skill, leak.Kind, leak.Value)
	}
	if len(r.Skills) == 0 || len(r.Skills) > 25 || r.Created != len(r.Skills) {
		t.Errorf("%d skills, %d created, %d updates: conversations on one theme update one skill", len(r.Skills),
			r.Created, r.Updated)
	}
	checkFailedOnes(t, b, conversations)
}

// A judge that likes everything activates neither what only failed conversations taught nor, if no outcome is
// known, what no observed success supports.
func TestAJudgeThatLikesEverythingActivatesNothingUnproven(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	conversations := sample(t)
	for _, rewards := range []bool{true, false} {
		b := apptest.Open(t, func(c *config.Config) { c.Quality, c.NameStyle = true, "hyphen" })
		script(b.Model)
		r, err := Lab{App: b.App, Workspace: b.Workspace}.Distil(t.Context(), conversations, 2, rewards)
		testkit.Must(t, err)
		broken, active, _ := r.Promise(rewards)
		if len(broken)+len(r.Errors)+len(r.Leaks)+r.Invented() > 0 || len(r.Skills) == 0 || rewards && active == 0 {
			t.Errorf("rewards %v: broken %v, errors %v, leaks %v, invented %d, %d skills, %d active", rewards, broken,
				r.Errors, r.Leaks, r.Invented(), len(r.Skills), active)
		}
		for _, s := range r.Skills {
			if rewards && s.Status == skill.Active && s.Failed > 0 {
				t.Errorf("%s is active, and %d of its %d conversations failed", s.Name, s.Failed, s.Sources)
			}
		}
	}
}

// checkFailedOnes checks that failed conversations only add lessons, and that skills name
// only tools that occur in conversations.
func checkFailedOnes(t *testing.T, b *apptest.Bundle, conversations []transcript.Conversation) {
	t.Helper()
	tools := map[string]bool{}
	failed := map[string]bool{}
	for _, c := range conversations {
		failed[c.ID] = c.Reward != nil && *c.Reward == 0
		for _, m := range c.Messages {
			for _, call := range m.ToolCalls {
				tools[call.Name] = true
			}
		}
	}
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(_ context.Context, q store.Tx) error {
		runs, err := q.Runs().Runs(t.Context(), 1000)
		if err != nil {
			return err
		}
		for _, r := range runs {
			full, err := q.Runs().Run(t.Context(), r.Ref.Run)
			if err != nil {
				return err
			}
			c, err := q.Transcripts().Conversation(t.Context(), full.Conversation, 0, 0)
			if err != nil {
				return err
			}
			if full.Outcome == run.Failed {
				t.Errorf("run %s failed: %s", r.Ref.Run, full.Reason)
			}
			tasks, err := q.Tasks().Tasks(t.Context(), r.Ref.Run)
			if err != nil {
				return err
			}
			for _, task := range tasks {
				if failed[c.ID] && task.Outcome == distillation.Created {
					t.Errorf("%s failed, and made skill %d", c.Title, task.Skill)
				}
				if task.Outcome != distillation.Created && task.Outcome != distillation.Updated {
					continue
				}
				v, err := q.Skills().Version(t.Context(), task.Skill, task.Version)
				if err != nil {
					return err
				}
				for _, tool := range v.Document().Tools {
					if !tools[tool] {
						t.Errorf("skill %s names the tool %q, which was never called", v.Name, tool)
					}
				}
				if failed[c.ID] && v.Base > 0 {
					before, err := q.Skills().Version(t.Context(), task.Skill, v.Base)
					if err != nil {
						return err
					}
					if before.Document().Procedure != v.Document().Procedure {
						t.Errorf("%s failed, and changed the procedure of %s", c.Title, v.Name)
					}
				}
			}
		}
		return nil
	}))
}

func TestTheCheckFindsWhatItLooksFor(t *testing.T) {
	t.Parallel()
	result, err := intake.Read("airline", bytes.NewReader(samples.Airline), intake.Options{})
	testkit.Must(t, err)
	p := personalOf(result.Conversations)
	v := versionWith("Ask Aarav Ahmed (aarav_ahmed_6699) about NQNU5R.")
	var kinds []string
	for _, leak := range p.in(v) {
		kinds = append(kinds, leak.Kind)
	}
	if got := strings.Join(kinds, ","); got != "name,name,user id,reservation" {
		t.Errorf("found %s", got)
	}
	if leaks := p.in(versionWith("Ask for the reservation id, then call cancel_reservation.")); len(leaks) != 0 {
		t.Errorf("found %v in a general text", leaks)
	}
}

func versionWith(body string) skill.Version { return skill.Version{Name: "x", Body: body} }
