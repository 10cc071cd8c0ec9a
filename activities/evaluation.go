package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/evaluation"
)

// Evaluations are the activities of evaluations.
type Evaluations struct{ Service *evaluation.Service }

// RegisterMain registers the database steps with w.
func (a Evaluations) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.OpenEvaluation:  step(quick, a.Service.Open),
		contract.StartUnit:       step(quick, a.Service.StartUnit),
		contract.AwaitUnit:       effect(queued, a.Service.AwaitUnit),
		contract.CloseEvaluation: step(quick, a.Service.Close),
	}.register(w)
}

// RegisterBatch registers the step that makes model calls.
func (a Evaluations) RegisterBatch(w worker.ActivityRegistry) {
	table{contract.AskUnit: effect(slow, a.Service.Ask)}.register(w)
}
