package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/offload"
)

// Offload are the activities of working memory.
type Offload struct{ Service *offload.Service }

// RegisterMain registers the database steps with w.
func (a Offload) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.CloseOffload: step(quick, a.Service.Close),
		contract.AwaitOffload: step(quick, a.Service.Await),
	}.register(w)
}

// RegisterLLM registers the model steps with w.
func (a Offload) RegisterLLM(w worker.ActivityRegistry) {
	table{contract.Compress: step(slow, a.Service.Compress)}.register(w)
}
