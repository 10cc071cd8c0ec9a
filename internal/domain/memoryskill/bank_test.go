package memoryskill_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
)

func seeded(t *testing.T, capacity int) memoryskill.Bank {
	t.Helper()
	b, err := memoryskill.SeedBank(capacity, true)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func added(t *testing.T, b memoryskill.Bank, name string) memoryskill.Bank {
	t.Helper()
	s := dates()
	s.Name = name
	b, err := b.Add(s, memoryskill.Designer, "round1")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryChangeMakesAnotherBank(t *testing.T) {
	t.Parallel()
	seed := seeded(t, 30)
	before := seed.Hash()
	grown := added(t, seed, "capture_dates")
	refined := dates()
	refined.Purpose = "Make questions about time answerable, with the year."
	better, err := grown.Refine(refined, memoryskill.Human, "")
	if err != nil {
		t.Fatal(err)
	}
	if seed.Hash() != before || seed.Len() != 4 || grown.Len() != 5 || better.Len() != 5 {
		t.Errorf("%d, %d and %d skills", seed.Len(), grown.Len(), better.Len())
	}
	if grown.Parent() != before || better.Parent() != grown.Hash() {
		t.Error("a bank does not know what it was made from")
	}
	first, _ := grown.Get("capture_dates")
	second, _ := better.Get("capture_dates")
	if second.Parent != first.ID || second.ID == first.ID || second.Content == first.Content ||
		second.Author != memoryskill.Human {
		t.Errorf("%+v\n%+v", first, second)
	}
	back, err := better.Remove("capture_dates")
	if err != nil || back.Hash() != before {
		t.Errorf("the set of the beginning has another hash: %v", err)
	}

	differences := memoryskill.Differences(seed, better)
	if len(differences) != 1 || differences[0].Kind != memoryskill.Added || differences[0].After.ID != second.ID {
		t.Errorf("%+v", differences)
	}
	change := memoryskill.Differences(grown, better)
	if len(change) != 1 || change[0].Kind != memoryskill.Refined {
		t.Errorf("%+v", change)
	}
	if got := memoryskill.Differences(better, seed); len(got) != 1 || got[0].Kind != memoryskill.Removed {
		t.Errorf("%+v", got)
	}
	if fresh := memoryskill.Fresh(change, false); len(fresh) != 1 || fresh[0] != second.ID {
		t.Errorf("%v", fresh)
	}
	if fresh := memoryskill.Fresh(change, true); len(fresh) != 0 {
		t.Errorf("refined skills are fresh although only added ones were wanted: %v", fresh)
	}
}

func TestVersionsAreNamedByContentAndParent(t *testing.T) {
	t.Parallel()
	a, err := memoryskill.NewVersion(dates(), "", memoryskill.Human, "")
	if err != nil {
		t.Fatal(err)
	}
	spaced := dates()
	spaced.Purpose = "  Make questions\nabout time answerable. "
	b, err := memoryskill.NewVersion(spaced, "", memoryskill.Designer, "round2")
	if err != nil || a.ID != b.ID || a.Content != b.Content {
		t.Errorf("white space and author made another version: %s %s %v", a.ID, b.ID, err)
	}
	c, err := memoryskill.NewVersion(dates(), a.ID, memoryskill.Human, "")
	if err != nil || c.ID == a.ID || c.Content != a.Content {
		t.Errorf("another parent: %s %s %v", a.ID, c.ID, err)
	}
}

func TestBankRefusesWhatWouldBreakIt(t *testing.T) {
	t.Parallel()
	b := added(t, seeded(t, 30), "capture_dates")
	asDelete, unknown, insertAsUpdate := dates(), dates(), memoryskill.Primitives()[0]
	asDelete.Action, unknown.Name, insertAsUpdate.Action = memoryskill.Delete, "capture_places", memoryskill.Update
	taken := memoryskill.Primitives()[0]
	for name, c := range map[string]struct {
		do   func() (memoryskill.Bank, error)
		code fault.Code
	}{
		"add a taken name": {func() (memoryskill.Bank, error) {
			return b.Add(taken, memoryskill.Designer, "")
		}, fault.AlreadyExists},
		"refine to delete": {func() (memoryskill.Bank, error) {
			return b.Refine(asDelete, memoryskill.Designer, "")
		}, fault.Protected},
		"refine a primitive": {func() (memoryskill.Bank, error) {
			return b.Refine(insertAsUpdate, memoryskill.Designer, "")
		}, fault.Protected},
		"refine what is not": {func() (memoryskill.Bank, error) {
			return b.Refine(unknown, memoryskill.Designer, "")
		}, fault.NotFound},
		"refine without change": {func() (memoryskill.Bank, error) {
			return b.Refine(dates(), memoryskill.Designer, "")
		}, fault.InvalidArgument},
		"remove a primitive": {func() (memoryskill.Bank, error) { return b.Remove("insert") }, fault.Protected},
		"remove what is not": {func() (memoryskill.Bank, error) {
			return b.Remove("capture_places")
		}, fault.NotFound},
		"add to a full bank": {func() (memoryskill.Bank, error) {
			return seeded(t, 4).Add(dates(), memoryskill.Designer, "")
		}, fault.QuotaExceeded},
	} {
		after, err := c.do()
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if after.Hash() != b.Hash() && after.Hash() != seeded(t, 4).Hash() {
			t.Errorf("%s changed the bank", name)
		}
	}
	if _, err := memoryskill.SeedBank(3, true); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("four primitives in a bank of three: %v", err)
	}
}

func TestEvictNeverTakesAPrimitiveOrAYoungSkill(t *testing.T) {
	t.Parallel()
	b := seeded(t, 30)
	for _, name := range []string{"bad_skill", "good_skill", "young_skill"} {
		b = added(t, b, name)
	}
	stats := map[string]memoryskill.Stats{}
	for _, v := range b.Versions() {
		stats[v.ID] = memoryskill.Stats{Count: 200, Mean: 0}
	}
	set := func(name string, s memoryskill.Stats) {
		v, _ := b.Get(name)
		stats[v.ID] = s
	}
	set("bad_skill", memoryskill.Stats{Count: 200, Mean: .3})
	set("good_skill", memoryskill.Stats{Count: 200, Mean: .7})
	set("young_skill", memoryskill.Stats{Count: memoryskill.MinSelections - 1, Mean: 0})
	if name, err := memoryskill.Evict(b, stats); err != nil || name != "bad_skill" {
		t.Errorf("%q %v", name, err)
	}
	// A worse mean of few selections can be bad luck: the upper bound decides.
	set("bad_skill", memoryskill.Stats{Count: 20, Mean: .3})
	if name, err := memoryskill.Evict(b, stats); err != nil || name != "good_skill" {
		t.Errorf("%q %v", name, err)
	}
	if _, err := memoryskill.Evict(seeded(t, 4), stats); fault.CodeOf(err) != fault.QuotaExceeded {
		t.Errorf("only primitives: %v", err)
	}
}

func TestStatsFollowTheirFormulas(t *testing.T) {
	t.Parallel()
	s := memoryskill.Stats{Usage: .5}.Use(3, 10)
	if math.Abs(s.Usage-.369735688) > 1e-6 {
		t.Errorf("usage %.9f", s.Usage)
	}
	for i := range 30 {
		s = s.Observe(float64(i))
	}
	if s.Count != 30 || math.Abs(s.Mean-14.5) > 1e-9 || len(s.Recent) != 20 || s.Recent[0] != 10 || s.Recent[19] != 29 {
		t.Errorf("%+v", s)
	}
	child := memoryskill.Stats{}.Observe(1)
	if got := child.Shrunk(memoryskill.Stats{Count: 50, Mean: .12}); math.Abs(got-(1+10*.12)/11) > 1e-9 {
		t.Errorf("shrunk to %v", got)
	}
	if got := child.Shrunk(memoryskill.Stats{}); got != 1 {
		t.Errorf("without a parent's mean: %v", got)
	}
}

func TestNearDuplicateIsRefusedUnlessItRefines(t *testing.T) {
	t.Parallel()
	b := added(t, seeded(t, 30), "capture_dates")
	v, _ := b.Get("capture_dates")
	vectors := map[string][]float64{v.ID: {1, 0}}
	twin := dates()
	twin.Name = "capture_times"
	err := memoryskill.CheckDistinct(b, twin, []float64{1, .1}, vectors)
	var f *fault.Error
	if fault.CodeOf(err) != fault.DuplicateSuspect || !errors.As(err, &f) || f.Extra["existing"] != "capture_dates" {
		t.Errorf("%v", err)
	}
	if err := memoryskill.CheckDistinct(b, twin, []float64{1, 1}, vectors); err != nil {
		t.Errorf("another description: %v", err)
	}
	if err := memoryskill.CheckDistinct(b, dates(), []float64{1, 0}, vectors); err != nil {
		t.Errorf("the skill itself: %v", err)
	}
	twin.Action = memoryskill.Update
	if err := memoryskill.CheckDistinct(b, twin, []float64{1, 0}, vectors); err != nil {
		t.Errorf("another action: %v", err)
	}
}

func TestSnapshotBindsBankPolicyAndOptimizer(t *testing.T) {
	t.Parallel()
	b := seeded(t, 30)
	weights, err := policy.NewPolicy(policy.TowerShape(2, 4), keyedrand.Key{Run: "a"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := policy.NewPolicy(policy.TowerShape(2, 4), keyedrand.Key{Run: "b"})
	if err != nil {
		t.Fatal(err)
	}
	s := memoryskill.Bind(b, weights, policy.Adam{})
	if err := s.Verify(b, weights, policy.Adam{}); err != nil {
		t.Error(err)
	}
	if err := s.Verify(b, other, policy.Adam{}); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("another policy: %v", err)
	}
	if err := s.Verify(added(t, b, "capture_dates"), weights,
		policy.Adam{}); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("another bank: %v", err)
	}
	s.Hash = s.Bank
	if err := s.Verify(b, weights, policy.Adam{}); fault.CodeOf(err) != fault.VersionConflict {
		t.Errorf("a forged hash: %v", err)
	}
}

func TestDifficultyFollowsItsFormulas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		score       float64
		failures    int
		linear, log float64
	}{
		{0, 1, 1, .693147181}, {0, 4, 4, 1.609437912}, {.45, 3, 1.65, .762461899}, {.2, 2, 1.6, .878889831},
		{1.2, 5, 0, 0},
	} {
		linear, log := memoryskill.Linear.Of(c.score, c.failures), memoryskill.Log.Of(c.score, c.failures)
		if math.Abs(linear-c.linear) > 1e-6 || math.Abs(log-c.log) > 1e-6 {
			t.Errorf("(%v, %d): %.9f and %.9f, want %.9f and %.9f", c.score, c.failures, linear, log, c.linear, c.log)
		}
	}
}

func TestRecipesAreSelectableByName(t *testing.T) {
	t.Parallel()
	hashes := map[string]bool{}
	for _, name := range []string{memoryskill.TargetRecipe, memoryskill.PaperRecipe, memoryskill.CodeRecipe} {
		r, err := memoryskill.NewRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.PPO.Check(), r.Credit.Check(), r.Shape(8, 4).Check()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		hashes[fmt.Sprint(r.Shape(8, 4), r.PPO, r.Credit)] = true
	}
	if len(hashes) != 3 {
		t.Error("two recipes are one")
	}
	if _, err := memoryskill.NewRecipe("other"); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("%v", err)
	}
}

// A version is scored by the queries that its selections affected. Without such a query it has no
// score, and an unscored query is not 0.
func TestSelectionsAreScoredByTheQueriesThatMetThem(t *testing.T) {
	t.Parallel()
	episode := policy.Episode{
		Decisions: []policy.Decision{{ID: "1", Chosen: []string{"a", "b"}}, {ID: "2", Chosen: []string{"a"}},
			{ID: "3", Chosen: []string{"c"}}},
		Queries: []policy.Query{{Score: 1, Scored: true, Retrieved: []string{"1"}},
			{Score: .5, Scored: true, Retrieved: []string{"2"}}, {Retrieved: []string{"2", "3"}}},
	}
	got := memoryskill.Tally(map[string]memoryskill.Stats{"a": {Count: 1, Mean: 0}}, []policy.Episode{episode}, false)
	if a, b, c := got["a"], got["b"], got["c"]; a.Count != 3 || math.Abs(a.Mean-.5) > 1e-9 || b.Count != 1 ||
		b.Mean != 1 || c.Count != 0 || c.Usage <= 0 || a.Usage <= c.Usage {
		t.Errorf("%+v", got)
	}
	whole := memoryskill.Tally(nil, []policy.Episode{episode}, true)
	if c := whole["c"]; c.Count != 1 || math.Abs(c.Mean-.75) > 1e-9 {
		t.Errorf("by the trace: %+v", whole)
	}
	// Lost decisions are distinguished from bad ones, also by the trace.
	episode.Lost = []string{"2"}
	for _, whole := range []bool{false, true} {
		if a := memoryskill.Tally(nil, []policy.Episode{episode}, whole)["a"]; a.Count != 1 {
			t.Errorf("by the trace %v, with a lost decision: %+v", whole, a)
		}
	}
}
