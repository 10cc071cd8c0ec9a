package memoryskill_test

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/testkit"
)

// extended returns the seed bank with skills that a person has added.
func extended(t *testing.T, names ...string) memoryskill.Bank {
	t.Helper()
	b, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	testkit.Must(t, err)
	for _, name := range names {
		insert, _ := b.Get("insert")
		s := insert.Skill
		s.Name, s.Title, s.Description = name, "Capture "+name, "Adds what the span says of "+name+"."
		b, err = b.Add(s, memoryskill.Human, "test")
		testkit.Must(t, err)
	}
	return b
}

func namesOf(ids []string) (out []string) {
	for _, id := range ids {
		name, _, _ := strings.Cut(id, "@")
		out = append(out, name)
	}
	return out
}

func TestThePriorPrefersWhatAddsMemoriesAndWhatIsNew(t *testing.T) {
	t.Parallel()
	b := extended(t, "capture_dates", "capture_trees")
	trees, _ := b.Get("capture_trees")
	for what, c := range map[string]struct {
		fresh []string
		want  []string
	}{
		"nothing new": {nil, []string{"insert", "capture_dates", "capture_trees", "update", "delete", "noop"}},
		"a new skill": {[]string{trees.ID},
			[]string{"insert", "capture_trees", "capture_dates", "update", "delete", "noop"}},
	} {
		if got := namesOf(memoryskill.Prior(b, c.fresh)); !slices.Equal(got[:3], c.want[:3]) ||
			got[len(got)-1] != "noop" || !slices.Contains(got, "update") {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestTheBestSetHasTheHighestMeans(t *testing.T) {
	t.Parallel()
	b := extended(t, "capture_dates", "capture_trees")
	stats := map[string]memoryskill.Stats{}
	for name, s := range map[string]memoryskill.Stats{"capture_trees": {Count: 40, Mean: .9},
		"update": {Count: 40, Mean: .8}, "insert": {Count: 40, Mean: .1},
		"capture_dates": {Count: 1, Mean: 1}} { // one score is little evidence
		v, _ := b.Get(name)
		stats[v.ID] = s
	}
	if got := namesOf(memoryskill.Best(b, stats, nil, 2)); !slices.Equal(got, []string{"capture_trees", "update"}) {
		t.Errorf("%q", got)
	}
	if got, want := memoryskill.Best(b, nil, nil, 3), memoryskill.Prior(b, nil)[:3]; !slices.Equal(got, want) {
		t.Errorf("without scores %q, want %q", got, want)
	}
	if got := memoryskill.Best(b, stats, nil, 99); len(got) != b.Len() {
		t.Errorf("%d of %d skills", len(got), b.Len())
	}
}
