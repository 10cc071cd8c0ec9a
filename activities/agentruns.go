package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
)

// AgentRuns are the activities of conversations and of the agents in them.
type AgentRuns struct {
	Service       *agentrun.Service
	Conversations *conversation.Service
	Approve       func(context.Context, contract.ApproveWriteInput) (contract.ApproveWriteResult, error)
}

// RegisterMain registers the database steps with w.
func (a AgentRuns) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.CloseAgent:        step(quick, a.Service.Close),
		contract.CountTurn:         step(quick, a.Service.CountTurn),
		contract.AwaitTurn:         step(quick, a.Service.Await),
		contract.ApproveWrite:      step(quick, a.Approve),
		contract.CloseConversation: effect(quick, a.Conversations.CloseConversation),
	}.register(w)
}

// RegisterLLM registers the steps of turns, and the activity that closes turns whose workflow runs
// on the same queue.
func (a AgentRuns) RegisterLLM(w worker.ActivityRegistry) {
	a.registerAgent(w)
	table{
		contract.Transcribe: effect(slow, a.Service.Transcribe),
		contract.CloseAgent: step(quick, a.Service.Close),
	}.register(w)
}

// RegisterBatch registers the steps of reviews, which run in the background.
func (a AgentRuns) RegisterBatch(w worker.ActivityRegistry) {
	a.registerAgent(w)
	table{contract.OpenNudge: step(quick, a.Service.OpenNudge)}.register(w)
}

func (a AgentRuns) registerAgent(w worker.ActivityRegistry) {
	table{contract.Step: step(slow, a.Service.Step)}.register(w)
	a.RegisterSandbox(w)
}

// RegisterSandbox registers the calls that run in a sandbox.
func (a AgentRuns) RegisterSandbox(w worker.ActivityRegistry) {
	table{contract.RunTool: effect(slow, a.Service.RunTool)}.register(w)
}
