package train

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cairn/internal/domain/learning"
)

// An episode asks the quota of each category. Another iteration asks other questions; a replay asks
// the same.
func TestAnEpisodeAsksASampleOfEachCategory(t *testing.T) {
	t.Parallel()
	var questions []learning.Case
	for category, n := range map[string]int{"1": 32, "2": 37, "3": 13, "4": 70} {
		for range n {
			questions = append(questions, learning.Case{Category: category, Conversation: 7})
		}
	}
	slices.SortFunc(questions, func(a, b learning.Case) int { return int(a.Category[0]) - int(b.Category[0]) })
	for i := range questions {
		questions[i].ID = int64(i)
	}
	spec := Spec{Seed: "42", Sample: .2}
	first := sample(questions, spec, 0, 0)
	sizes := map[string]int{}
	for _, q := range first {
		sizes[q.Category]++
	}
	if want := map[string]int{"1": 7, "2": 8, "3": 3, "4": 13}; !reflect.DeepEqual(sizes, want) {
		t.Errorf("asked %v, want %v", sizes, want)
	}
	if again := sample(questions, spec, 0, 0); !reflect.DeepEqual(again, first) {
		t.Error("played again it asks others")
	}
	if other := sample(questions, spec, 0, 1); fmt.Sprint(other) == fmt.Sprint(first) {
		t.Error("the next iteration asks the same")
	}
	for _, all := range []float64{0, 1} {
		spec.Sample = all
		if got := sample(questions, spec, 0, 0); len(got) != len(questions) {
			t.Errorf("share %v: %d questions", all, len(got))
		}
	}
	spec.Sample = .01
	if got := sample(questions[:1], spec, 0, 0); len(got) != 1 || len(sample(nil, spec, 0, 0)) != 0 {
		t.Errorf("%d of one question", len(got))
	}
}
