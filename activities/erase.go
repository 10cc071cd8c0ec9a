package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/erase"
)

// Erase are the activities of an erasure.
type Erase struct{ Service *erase.Service }

// RegisterMain registers the steps with w.
func (a Erase) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.EraseFence:   effect(slow, a.Service.Fence),
		contract.EraseStop:    effect(slow, a.Service.Stop),
		contract.EraseDerived: effect(slow, a.Service.Derived),
		contract.EraseCount:   effect(slow, a.Service.CountObjects),
		contract.EraseRows:    effect(slow, a.Service.Rows),
		contract.EraseObjects: effect(slow, a.Service.Objects),
		contract.EraseEnd:     step(slow, a.Service.End),
	}.register(w)
}
