package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/memoryagent"
)

// Adds are the activities of the workflow Remember.
type Adds struct{ Service *memoryagent.Adder }

// RegisterLLM registers both activities with w, because the workflow runs on the same queue.
func (a Adds) RegisterLLM(w worker.ActivityRegistry) {
	table{
		contract.AddSessions: step(slow, a.Service.Add),
		contract.CloseAdds:   effect(quick, a.Service.Close),
	}.register(w)
}

// Agents are the activities of the agents of long-term memory. Their steps are those of AgentRuns.
type Agents struct {
	Service *memoryagent.Service
	Idle    *memoryagent.IdleReader
}

// RegisterMain registers the database steps with w.
func (a Agents) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.KeepSession: step(quick, a.Service.KeepSession),
		contract.TakeTarget:  step(queued, a.Service.TakeTarget),
		contract.FreeTarget:  effect(quick, a.Service.FreeTarget),
		contract.AwaitAgent:  step(quick, a.Service.Await),
		contract.ReadIdle:    step(quick, a.Idle.Read),
		contract.CloseRefine: step(quick, a.Service.CloseRefine),
	}.register(w)
}

// RegisterSteps registers the activities that run on the queue of the agents' steps.
func (a Agents) RegisterSteps(w worker.ActivityRegistry) {
	table{
		contract.HandOff:       step(quick, a.Service.HandOff),
		contract.RecordHandOff: effect(quick, a.Service.RecordHandOff),
	}.register(w)
}

// RegisterLLM registers the steps that call a model without an agent.
func (a Agents) RegisterLLM(w worker.ActivityRegistry) {
	table{
		contract.RerankFound:   step(slow, a.Service.Rerank),
		contract.CondenseFound: effect(slow, a.Service.Condense),
	}.register(w)
}
