package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/vectorspace"
)

// Reembed are the activities of a re-embedding.
type Reembed struct{ Service *vectorspace.Service }

// RegisterMain registers the database steps with w.
func (a Reembed) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.ReembedBegin:  effect(slow, a.Service.Begin),
		contract.ReembedSwitch: step(slow, a.Service.Switch),
		contract.ReembedMark:   effect(quick, a.Service.Mark),
	}.register(w)
}

// RegisterLLM registers the steps that call the embedding model with w.
func (a Reembed) RegisterLLM(w worker.ActivityRegistry) {
	table{contract.ReembedBatch: step(slow, a.Service.Batch)}.register(w)
}
