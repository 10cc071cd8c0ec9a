package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/distill"
)

// Distill are the activities of a distillation.
type Distill struct{ Service *distill.Service }

// RegisterMain registers the database steps with w.
func (a Distill) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.EndTask:   step(quick, a.Service.EndTask),
		contract.AwaitTask: effect(quick, a.Service.AwaitTask),
		contract.CloseRun:  step(quick, a.Service.Close),
	}.register(w)
}

// RegisterLLM registers the steps that call models, and the database steps of the workflows on the
// same queue.
func (a Distill) RegisterLLM(w worker.ActivityRegistry) {
	a.RegisterMain(w)
	table{
		contract.Segment:    step(slow, a.Service.Segment),
		contract.Draft:      step(slow, a.Service.Draft),
		contract.WriteFiles: step(slow, a.Service.Write),
		contract.Judge:      effect(slow, a.Service.Judge),
		contract.Compare:    effect(slow, a.Service.Compare),
		contract.Merge:      effect(slow, a.Service.Merge),
	}.register(w)
}

// RegisterBatch registers the steps that compute.
func (a Distill) RegisterBatch(w worker.ActivityRegistry) {
	table{contract.Publish: step(quick, a.Service.Publish)}.register(w)
}
