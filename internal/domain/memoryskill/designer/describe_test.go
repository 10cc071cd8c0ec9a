package designer

import (
	"testing"

	"cairn/internal/domain/memoryskill"
)

// A refinement is described by its text, because another refinement of the same skill may be
// useful.
func TestEditsAreToldWithWhatTheyNowSay(t *testing.T) {
	t.Parallel()
	before, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	if err != nil {
		t.Fatal(err)
	}
	insert, _ := before.Get("insert")
	s := insert.Skill
	s.HowToApply = append([]string{"Keep items compact"}, s.HowToApply...)
	after, err := before.Refine(s, memoryskill.Designer, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got := Describe(memoryskill.Differences(before, after)); got != "refined insert (Keep items compact)" {
		t.Errorf("%q", got)
	}
}
