package memskill_test

import (
	"testing"

	"cairn/internal/service/evaluation/memskill"
)

func TestTheRestBelongsToNoRowAndNoTraining(t *testing.T) {
	t.Parallel()
	r := memskill.Result{Usage: memskill.Usage{Calls: 20, Input: 200, Output: 30, CostMicros: 50},
		Rows: []memskill.Row{{Build: memskill.Usage{Calls: 2, Input: 20, CostMicros: 3},
			Scores: memskill.Scores{Usage: memskill.Usage{Calls: 5, Output: 10}}}},
		Learned: []memskill.Learned{{Usage: memskill.Usage{Calls: 10, Input: 100, CostMicros: 40}}}}
	if got, want := r.Rest(), (memskill.Usage{Calls: 3, Input: 80, Output: 20, CostMicros: 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
