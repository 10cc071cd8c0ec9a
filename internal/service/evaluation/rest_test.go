package evaluation_test

import (
	"testing"

	"cairn/internal/domain/learning"
	evals "cairn/internal/service/evaluation"
)

func TestTheRestBelongsToNoRowAndNoTraining(t *testing.T) {
	t.Parallel()
	r := evals.Result{Usage: learning.EvaluationUsage{Calls: 20, Input: 200, Output: 30, CostMicros: 50},
		Rows: []evals.Row{{Build: learning.EvaluationUsage{Calls: 2, Input: 20, CostMicros: 3},
			Scores: evals.Scores{Usage: learning.EvaluationUsage{Calls: 5, Output: 10}}}},
		Learned: []evals.Learned{{Usage: learning.EvaluationUsage{Calls: 10, Input: 100, CostMicros: 40}}}}
	if got, want := r.Rest(), (learning.EvaluationUsage{Calls: 3, Input: 80, Output: 20, CostMicros: 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
