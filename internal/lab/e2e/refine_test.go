package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/library"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// A fast search finds skills and memories. A model refines the result within a deadline, and a
// failure of the model does not affect the result.
func TestAFastSearchIsRefined(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := filled(t)
	_, err := b.Library.Save(t.Context(), by(b, agent.OriginUser),
		library.SaveArgs{Name: "deploy-web", Description: "Run a smoke test of the host before traffic moves",
			Content: procedure})
	testkit.Must(t, err)
	ask := func(change ...func(*memoryagent.Question)) memoryagent.Answer {
		t.Helper()
		q := memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
			Query: "smoke test before traffic moves to the host", Mode: memoryagent.Fast, Spec: app.TurnSpec(b.Config)}
		for _, f := range change {
			f(&q)
		}
		out, err := b.Progressive.Retrieve(t.Context(), q)
		testkit.Must(t, err)
		return out
	}
	of := func(a memoryagent.Answer, kind string) int {
		for i, m := range a.Memories {
			if string(m.Type) == kind {
				return i
			}
		}
		return -1
	}
	model := func(r memoryagent.Refine) func(*memoryagent.Question) {
		return func(q *memoryagent.Question) { q.Refine = r }
	}
	patient := func(q *memoryagent.Question) { q.Refine.Deadline = 50 * time.Second }
	requests := len(b.Model.Requests())
	plain := ask()

	t.Run("skills take part", func(t *testing.T) {
		at := of(plain, skill.MemoryType)
		if at < 0 || of(plain, "procedural") < 0 {
			t.Fatalf("%+v", plain.Memories)
		}
		if s := plain.Memories[at]; s.ID != "deploy-web" || s.Name != "deploy-web" || s.Version != 1 ||
			s.Description == "" || s.View != "/v1/skills/deploy-web" || s.Score == 0 {
			t.Errorf("%+v", s)
		}
		off := false
		if a := ask(func(q *memoryagent.Question) { q.Choices.SkillMemory = &off }); of(a, skill.MemoryType) >= 0 ||
			of(a, "procedural") < 0 {
			t.Errorf("without skills: %+v", a.Memories)
		}
		if a := ask(func(q *memoryagent.Question) {
			q.Choices.Types = append(q.Choices.Types, skill.MemoryType)
		}); len(a.Memories) != 1 || of(a, skill.MemoryType) != 0 {
			t.Errorf("skills alone: %+v", a.Memories)
		}
		if a := ask(func(q *memoryagent.Question) {
			q.Choices.Types = append(q.Choices.Types, "procedural")
		}); of(a, skill.MemoryType) >= 0 || of(a, "procedural") < 0 {
			t.Errorf("procedures alone: %+v", a.Memories)
		}
		exec(b, "update cairn.skills set status = 'archived'")
		if a := ask(); of(a, skill.MemoryType) >= 0 {
			t.Errorf("an archived skill is found: %+v", a.Memories)
		}
		exec(b, "update cairn.skills set status = 'active'")
	})
	t.Run("a day is searched", func(t *testing.T) {
		today := column[string](b, "select to_char(now() at time zone 'utc', 'YYYYMMDD')")[0]
		if a := ask(func(q *memoryagent.Question) { q.TimeFilter = today }); of(a, "procedural") < 0 ||
			of(a, skill.MemoryType) >= 0 {
			t.Errorf("today: %+v", a.Memories)
		}
		if a := ask(func(q *memoryagent.Question) { q.TimeFilter = "20200101,20200131" }); len(a.Memories) != 0 ||
			a.Status != memoryagent.NoRelevant {
			t.Errorf("long ago: %+v", a)
		}
	})
	t.Run("scores are filtered without a model", func(t *testing.T) {
		all := 1.0
		a := ask(model(memoryagent.Refine{Filter: true, MinScore: &all}))
		if len(a.Memories) == 0 || len(a.Memories) >= len(plain.Memories) || a.Memories[0].ID != plain.Memories[0].ID ||
			a.Run != "" {
			t.Errorf("%+v", a)
		}
	})
	if n := len(b.Model.Requests()); n != requests {
		t.Fatalf("%d requests to a model by searches alone", n-requests)
	}
	t.Run("a model orders and rewrites", func(t *testing.T) {
		b.Model.On(openaitest.Rule{Stage: "rerank", Times: 1,
			Reply: `{"ranking":[{"memory":"m2","score":0.9},{"memory":"m1","score":0.4}]}`})
		b.Model.On(openaitest.Rule{Stage: "condense", Times: 1,
			Reply: `{"context":"A smoke test runs before traffic moves.","used":["m2"]}`})
		half := 0.5
		full := []func(*memoryagent.Question){
			model(memoryagent.Refine{Rerank: true, Rewrite: true, Filter: true, MinScore: &half}), patient,
			func(q *memoryagent.Question) { q.ID = "refined" }}
		a := ask(full...)
		if a.Mode != memoryagent.Fast || a.Note != "" || a.Text != "A smoke test runs before traffic moves." ||
			len(a.Memories) != 1 || a.Memories[0].ID != plain.Memories[1].ID || *a.Memories[0].Relevance != 0.9 {
			t.Fatalf("%+v", a)
		}
		if last := asked(b, "condense")[0].Last; strings.Contains(last, `"m1"`) || !strings.Contains(last, `"m2"`) {
			t.Errorf("the rewriter is shown what was filtered out: %s", last)
		}
		before := len(b.Model.Requests())
		again := ask(full...)
		if again.Text != a.Text || again.Run != a.Run || len(again.Memories) != 1 || len(b.Model.Requests()) != before {
			t.Errorf("the same request: %+v after %d requests", again, len(b.Model.Requests())-before)
		}
		_, err := b.Progressive.Retrieve(t.Context(),
			memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, ID: "refined",
				Query: "smoke test before traffic", Mode: memoryagent.Fast,
				Refine: memoryagent.Refine{Rewrite: true}, Spec: app.TurnSpec(b.Config)})
		if fault.CodeOf(err) != fault.OpReused {
			t.Errorf("another question under the same id: %v", err)
		}
		b.Record(column[string](b, "select workflow_id from cairn.runs where business_key = 'refined'")[0], "Refine/ok")
	})
	for name, c := range map[string]struct {
		rule openaitest.Rule
		do   memoryagent.Refine
		note string
	}{
		"unknown memories": {openaitest.Rule{Stage: "rerank", Reply: `{"ranking":[{"memory":"m99","score":0.9}]}`},
			memoryagent.Refine{Rerank: true}, "unknown memories"},
		"an empty order": {openaitest.Rule{Stage: "rerank", Reply: `{"ranking":[]}`},
			memoryagent.Refine{Rerank: true}, "empty"},
		"another schema": {openaitest.Rule{Stage: "rerank", Reply: `["m1"]`}, memoryagent.Refine{Rerank: true},
			"requested format"},
		"a wrong score": {openaitest.Rule{Stage: "rerank", Reply: `{"ranking":[{"memory":"m1","score":7}]}`},
			memoryagent.Refine{Rerank: true}, "scores"},
		"a refusal": {openaitest.Rule{Stage: "rerank", Status: 400, Reply: "no"},
			memoryagent.Refine{Rerank: true, Rewrite: true}, "the model failed"},
		"an error text": {openaitest.Rule{Stage: "condense",
			Reply: `{"context":"Error 503: upstream connect failure, please retry later","used":["m1"]}`},
			memoryagent.Refine{Rewrite: true}, "not based on the memories"},
		"a greeting": {openaitest.Rule{Stage: "condense", Reply: `hello`}, memoryagent.Refine{Rewrite: true},
			"requested format"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rule.Times = 1
			b.Model.On(c.rule)
			before := len(b.Model.Requests())
			a := ask(model(c.do), patient)
			if !strings.Contains(a.Note, c.note) || a.Text != "" || a.Status != memoryagent.OK ||
				len(a.Memories) == 0 || a.Memories[0].ID != plain.Memories[0].ID || a.Memories[0].Relevance != nil {
				t.Errorf("%+v", a)
			}
			if n := len(b.Model.Requests()) - before; n != 1 {
				t.Errorf("%d calls were paid", n)
			}
		})
	}
	t.Run("the deadline passes and the run goes on", func(t *testing.T) {
		b.Model.On(openaitest.Rule{Stage: "rerank", Times: 1, Barrier: "slow",
			Reply: `{"ranking":[{"memory":"m1","score":0.8}]}`})
		late := []func(*memoryagent.Question){model(memoryagent.Refine{Rerank: true, Deadline: 150 * time.Millisecond}),
			func(q *memoryagent.Question) { q.ID = "late" }}
		begun := time.Now()
		a := ask(late...)
		if !strings.Contains(a.Note, "deadline") || len(a.Memories) == 0 || a.Run == "" ||
			time.Since(begun) > 30*time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), a)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		testkit.Must(t, b.Model.AwaitBarrier(ctx, "slow", 1))
		b.Model.Release("slow")
		testkit.Eventually(t, "the run has ended", func() bool {
			return count(b, "select count(*) from cairn.runs where business_key = 'late' and status = 'ended'") == 1
		})
		before := len(b.Model.Requests())
		if a = ask(late...); a.Note != "" || len(a.Memories) != 1 || a.Memories[0].Relevance == nil ||
			len(b.Model.Requests()) != before {
			t.Errorf("asked again: %+v", a)
		}
		if got, err := b.Progressive.Answered(t.Context(),
			run.Ref{Workspace: b.Workspace.ID, Run: a.Run}); err != nil || got.Mode != memoryagent.Fast ||
			len(got.Memories) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("without Temporal", func(t *testing.T) {
		starter := b.Progressive.Starter
		b.Progressive.Starter = nil
		defer func() { b.Progressive.Starter = starter }()
		if a := ask(model(memoryagent.Refine{Rerank: true})); !strings.Contains(a.Note, "Temporal") ||
			len(a.Memories) == 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("what cannot be meant", func(t *testing.T) {
		two := 2.0
		for name, change := range map[string]func(*memoryagent.Question){
			"min_score": func(q *memoryagent.Question) {
				q.Refine = memoryagent.Refine{Filter: true, MinScore: &two}
			},
			"deadline": func(q *memoryagent.Question) {
				q.Refine = memoryagent.Refine{Rerank: true, Deadline: time.Hour}
			},
			"agentic rerank": func(q *memoryagent.Question) { q.Mode, q.Refine.Rerank = memoryagent.Agentic, true },
			"time":           func(q *memoryagent.Question) { q.TimeFilter = "yesterday" },
			"agentic skills": func(q *memoryagent.Question) {
				q.Mode, q.Choices.Types = memoryagent.Agentic, append(q.Choices.Types, skill.MemoryType)
			},
		} {
			q := memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Query: "traffic",
				Mode: memoryagent.Fast, Spec: app.TurnSpec(b.Config)}
			change(&q)
			if _, err := b.Progressive.Retrieve(t.Context(), q); fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
