package e2e_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/bank"
	trainer "cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// scored returns how often the skills of the default bank were scored, and their common mean.
// The bank is so small that all skills are chosen.
func scored(b *apptest.Bundle) (count int, mean, usage float64) {
	b.T.Helper()
	head, err := b.Learning.Banks.At(b.T.Context(), b.Workspace.ID, bank.Default, 0)
	testkit.Must(b.T, err)
	if len(head.Stats) != head.Bank.Len() {
		b.T.Fatalf("statistics of %d skills, the bank has %d", len(head.Stats), head.Bank.Len())
	}
	first := true
	for id, s := range head.Stats {
		if !first && (s.Count != count || math.Abs(s.Mean-mean) > 1e-9 || math.Abs(s.Usage-usage) > 1e-9) {
			b.T.Errorf("%s: %+v; another has count %d, mean %v, usage %v", id, s, count, mean, usage)
		}
		count, mean, usage, first = s.Count, s.Mean, s.Usage, false
	}
	return count, mean, usage
}

// knows builds memories of a session with memory skills, and sets an agent that answers from
// them.
func knows(t *testing.T) *apptest.Bundle {
	t.Helper()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"agent":"remy","memory":{"builder":"skills"}}' where id = $1`,
		b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	builtBy(b, buildSession(b, building()).Ref)
	perform(b, "turn", "", does(saying("vector_retrieve_memory",
		object{"query_items": []object{{"memory_type": "personal", "memory_target": "the house",
			"query": "how many lemon trees the greenhouse has"}}})), says("There are two."))
	return b
}

// behind counts the decisions behind the memories of the latest turn.
func behind(b *apptest.Bundle) int {
	return count(b, `select count(distinct r.decision_id) from cairn.memory_views s join cairn.memory_revisions r `+
		`on r.workspace_id = s.workspace_id and r.memory_id = s.memory_id
where r.decision_id <> ''
  and s.run_id = (select run_id from cairn.turns where run_id is not null order by accepted_at desc limit 1)`)
}

// votes returns a context in which the holder of a key acts.
func votes(t *testing.T, key string) context.Context {
	t.Helper()
	id, err := strconv.ParseInt(key, 10, 64)
	testkit.Must(t, err)
	return audit.WithKey(t.Context(), audit.Key, id)
}

// Feedback on an answer is recorded for the skills behind the memories that it used, once for
// each operation, even after crashes.
func TestWhatPeopleSayOfAnAnswerCountsForTheSkillsBehindIt(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := knows(t)
	n, _, usage := scored(b)
	if want := 1 - math.Pow(.9, 3); n != 0 || math.Abs(usage-want) > 1e-9 {
		t.Errorf("after a build of three spans: scored %d times, usage %v, want %v", n, usage, want)
	}
	b.Say("c", 1, "How many lemon trees are there?")
	shown := behind(b)
	if shown < 2 {
		t.Fatalf("%d decisions are behind what the turn was shown; the greenhouse alone has two", shown)
	}
	say := func(op, rating string) { // each by another voter
		t.Helper()
		_, err := b.Feedback.Note(votes(t, op), b.Workspace.ID, op,
			feedback.Input{Rating: rating, Conversation: "c", MessageID: "m1"})
		testkit.Must(t, err)
	}
	for i, c := range []struct {
		op, rating string
		count      int
		mean       float64
	}{{"1", feedback.Bad, shown, 0}, {"1", feedback.Bad, shown, 0}, {"2", feedback.Good, 2 * shown, .5},
		{"1", feedback.Bad, 2 * shown, .5}, {"2", feedback.Good, 2 * shown, .5},
		{"3", feedback.Good, 3 * shown, 2. / 3}} {
		say(c.op, c.rating)
		if n, mean, _ := scored(b); n != c.count || math.Abs(mean-c.mean) > 1e-9 {
			t.Errorf("%d, %s %s: scored %d times, mean %v; want %d and %v", i, c.op, c.rating, n, mean, c.count, c.mean)
		}
	}
	if _, err := b.Feedback.Note(votes(t, "1"), b.Workspace.ID, "1",
		feedback.Input{Rating: feedback.Bad, Question: "Something else?"}); fault.CodeOf(err) != fault.OpReused {
		t.Errorf("another question under the same operation: %v", err)
	}
	// Its case shows the designer the memories behind the answer.
	if n := count(b, "select count(*) from cairn.cases where source = 'feedback' and cardinality(retrieved) > 0 and "+
		"failures = 0"); n != 1 {
		t.Errorf("%d cases know what was retrieved and are resolved", n)
	}
	// A question as text refers to no known memory.
	if _, err := b.Feedback.Note(t.Context(), b.Workspace.ID, "4",
		feedback.Input{Rating: feedback.Bad, Question: "Where is the key?"}); err != nil {
		t.Error(err)
	}
	if n, _, _ := scored(b); n != 3*shown {
		t.Errorf("a question without a turn was counted: %d", n)
	}
}

// A correction in a conversation has the effect of a bad rating when the conversation is read.
// It is a failure that can start a round.
func TestACorrectionInTalkCountsAndMayStartARound(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := knows(t)
	b.Model.On(openaitest.Rule{Stage: "diagnose",
		Reply: `{"failure_patterns": [], "recommendations": [], "summary": "numbers are lost"}`})
	b.Model.On(openaitest.Rule{Stage: "propose", Reply: `{"summary": "nothing", "changes": []}`})
	for n := range 19 {
		_, err := b.Feedback.Note(t.Context(), b.Workspace.ID, fmt.Sprint("early", n),
			feedback.Input{Rating: feedback.Bad, Question: fmt.Sprintf("Which tree did Vera plant in %d?", 2000+n)})
		testkit.Must(t, err)
	}
	b.Say("c", 1, "How many lemon trees are there?")
	shown := behind(b)
	if shown < 2 {
		t.Fatalf("%d decisions are behind what the turn was shown", shown)
	}
	b.Say("c", 2, "No, it's nine!")
	before, _, _ := scored(b)
	if n := evolutions(b); before != 0 || n != 0 {
		t.Fatalf("before the talk is read: scored %d times, %d rounds", before, n)
	}
	id := view(b, "c").ID
	for range 2 {
		_, err := b.Idle.Read(t.Context(), contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
			Conversation: id})
		testkit.Must(t, err)
		if n, mean, _ := scored(b); n != shown || mean != 0 {
			t.Errorf("scored %d times with mean %v, want %d and 0", n, mean, shown)
		}
		if n := evolutions(b); n != 1 {
			t.Errorf("%d rounds after the twentieth failure", n)
		}
	}
	if n := count(b, "select count(*) from cairn.cases where source = 'correction' and 'nine' = any(gold) and "+
		"run_id is not null"); n != 1 {
		t.Errorf("%d cases of the correction", n)
	}
}

// Decisions, memories and failures of one workspace are invisible to another one, even by their
// exact name.
func TestMemorySkillsOfAnotherWorkspaceAreNeverSeen(t *testing.T) {
	t.Parallel()
	b := knows(t)
	failing(b)
	b.Say("c", 1, "How many lemon trees are there?")
	var decision string
	var shown string
	b.Within(func(ctx context.Context, q store.Tx) error {
		decision, shown = column[string](b, "select id from cairn.decisions order by id limit 1")[0],
			column[string](b, "select run_id from cairn.turns order by accepted_at desc limit 1")[0]
		met, err := q.Decisions().MemoryUses(ctx, shown)
		if len(met) == 0 {
			t.Error("its own workspace does not see what the turn was shown")
		}
		return err
	})
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	head, err := b.Learning.Banks.Head(t.Context(), other.ID, bank.Default)
	testkit.Must(t, err)
	vectors, err := b.Embedder.Embed(t.Context(), []string{"lemon trees in the greenhouse"})
	testkit.Must(t, err)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), other.ID, func(_ context.Context, q store.Tx) error {
		near, err := q.Documents().Neighbors(t.Context(), vectors[0], b.Space, 100)
		testkit.Must(t, err)
		_, found, err := q.Decisions().DecisionAt(t.Context(), decision)
		testkit.Must(t, err)
		met, err := q.Decisions().MemoryUses(t.Context(), shown)
		testkit.Must(t, err)
		known, err := q.Cases().KnownCases(t.Context(), head.ID)
		testkit.Must(t, err)
		stats, err := q.Banks().SkillStats(t.Context(), head.ID)
		testkit.Must(t, err)
		if len(near)+len(met)+len(known)+len(stats) > 0 || found {
			t.Errorf("seen: %d memories, decision %v, %d met, %d cases, statistics of %d skills", len(near), found,
				len(met), len(known), len(stats))
		}
		return nil
	}))
	if open, err := b.Learning.Cases.List(t.Context(), other.ID, "", 100); err != nil || len(open) != 0 {
		t.Errorf("%d cases, %v", len(open), err)
	}
	if _, err := b.Learning.Trainings.Accept(t.Context(),
		trainer.Request{Workspace: other.ID, WorkspaceKey: other.Key}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a training on another's traces: %v", err)
	}
}
