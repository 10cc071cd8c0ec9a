package policy

import (
	"fmt"
	"runtime"
	"testing"

	"cairn/internal/testkit"
)

const (
	worldUpdates = 100
	worldBar     = 0.85 // overlap with the right skills; a random choice has 0.375
)

// The mean of three worlds is measured by BenchmarkLearning.
func TestDefaultRecipeLearnsWhichSkillsASpanNeeds(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := newWorld("seed0")
	run := w.begin(TowerShape(worldDim, worldHidden), DefaultPPO(), DefaultCredit())
	before := w.greedy(run.policy)
	w.train(run, 0, worldUpdates)
	after := w.greedy(run.policy)
	t.Logf("greedy overlap %.3f before, %.3f after %d updates", before, after, worldUpdates)
	if after < worldBar {
		t.Errorf("greedy overlap is %.3f after %d updates, want %.2f", after, worldUpdates, worldBar)
	}
	if before > 0.6 {
		t.Errorf("greedy overlap was %.3f before training: this world is too easy", before)
	}
	newSkillIsTakenUp(t, w, run)
}

// newSkillIsTakenUp adds a skill that one kind of span now needs instead of another, and continues
// the training.
func newSkillIsTakenUp(t *testing.T, w *world, run *training) {
	const updates, kind, added = 50, 0, "skill_added"
	stream := w.newcomer()
	w.addSkill(added, unit(gaussian(&stream)))
	w.skills[len(w.skills)-1].Fresh = true
	w.right[kind][0] = added
	before := w.chosenFor(run.policy, kind, added)
	run.choice.Exploration = DefaultExploration()
	for i := range updates {
		run.choice.Since = i
		w.train(run, worldUpdates+i, worldUpdates+i+1)
	}
	after := w.chosenFor(run.policy, kind, added)
	t.Logf("the new skill is chosen for %.0f %% of its spans before, %.0f %% after %d updates", 100*before, 100*after,
		updates)
	if after < 0.5 {
		t.Errorf("the new skill is chosen for %.0f %% of its spans after %d updates, want half", 100*after, updates)
	}
}

// The same seeds with 1 and with 16 workers give the same policy, bit for bit.
func TestPolicyDoesNotDependOnTheNumberOfWorkers(t *testing.T) {
	t.Parallel()
	hash := func(workers int) (string, string) {
		w := newWorld("workers")
		run := w.begin(TowerShape(worldDim, 32), DefaultPPO(), DefaultCredit())
		run.workers = workers
		run.choice.Exploration = DefaultExploration()
		w.skills[2].Fresh = true
		w.train(run, 0, 5)
		return run.policy.Hash(), run.optimizer.Hash()
	}
	policy, optimizer := hash(1)
	for range 2 {
		if p, o := hash(16); p != policy || o != optimizer {
			t.Errorf("16 workers give policy %s and optimizer %s, one gives %s and %s", p, o, policy, optimizer)
		}
	}
}

// BenchmarkLearning measures the mean over three worlds, and the results of the other shape and
// credits.
func BenchmarkLearning(b *testing.B) {
	for _, c := range []struct {
		name   string
		shape  Shape
		credit Credit
	}{
		{"tower-provenance", TowerShape(worldDim, worldHidden), DefaultCredit()},
		{"dot-provenance", DotShape(worldDim, worldHidden), DefaultCredit()},
		{"tower-terminal", TowerShape(worldDim, worldHidden), Credit{Name: Terminal}},
		{"tower-redistributed", TowerShape(worldDim, worldHidden), Credit{Name: Redistributed}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				const seeds = 3
				var at50, at100 float64
				for seed := range seeds {
					w := newWorld(fmt.Sprintf("seed%d", seed))
					run := w.begin(c.shape, DefaultPPO(), c.credit)
					w.train(run, 0, 50)
					at50 += w.greedy(run.policy) / seeds
					w.train(run, 50, worldUpdates)
					at100 += w.greedy(run.policy) / seeds
				}
				b.ReportMetric(at50, "overlap@50")
				b.ReportMetric(at100, "overlap@100")
			}
		})
	}
}

// BenchmarkMemory trains for 200 iterations and compares the memory in use after 50 iterations with
// the final one.
func BenchmarkMemory(b *testing.B) {
	held := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for range b.N {
		w := newWorld("memory")
		run := w.begin(TowerShape(worldDim, worldHidden), DefaultPPO(), DefaultCredit())
		w.train(run, 0, 50)
		early := held()
		w.train(run, 50, 200)
		late := held()
		b.ReportMetric(early/1024, "KiB@50")
		b.ReportMetric(late/1024, "KiB@200")
		if late > 1.1*early {
			b.Errorf("training holds %.0f bytes after 50 iterations and %.0f after 200", early, late)
		}
		runtime.KeepAlive(w)
		runtime.KeepAlive(run)
	}
}
