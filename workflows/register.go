package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Register registers every workflow with w. Each call is written out, because workflowcheck looks
// for them.
func Register(w worker.WorkflowRegistry) {
	RegisterNearModels(w)
	w.RegisterWorkflowWithOptions(Adapt, workflow.RegisterOptions{Name: contract.Adapt})
	w.RegisterWorkflowWithOptions(Build, workflow.RegisterOptions{Name: contract.Build})
	w.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: contract.Conversation})
	w.RegisterWorkflowWithOptions(Curate, workflow.RegisterOptions{Name: contract.Curate})
	w.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: contract.Deliver})
	w.RegisterWorkflowWithOptions(Erase, workflow.RegisterOptions{Name: contract.Erase})
	w.RegisterWorkflowWithOptions(Evaluate, workflow.RegisterOptions{Name: contract.Evaluate})
	w.RegisterWorkflowWithOptions(Evolve, workflow.RegisterOptions{Name: contract.Evolve})
	w.RegisterWorkflowWithOptions(Nudge, workflow.RegisterOptions{Name: contract.Nudge})
	w.RegisterWorkflowWithOptions(Offload, workflow.RegisterOptions{Name: contract.Offload})
	w.RegisterWorkflowWithOptions(Probe, workflow.RegisterOptions{Name: contract.Probe})
	w.RegisterWorkflowWithOptions(Reembed, workflow.RegisterOptions{Name: contract.Reembed})
	w.RegisterWorkflowWithOptions(Refine, workflow.RegisterOptions{Name: contract.Refine})
	w.RegisterWorkflowWithOptions(Reflection, workflow.RegisterOptions{Name: contract.ReflectionWorkflow})
	w.RegisterWorkflowWithOptions(Retrieve, workflow.RegisterOptions{Name: contract.Retrieve})
	w.RegisterWorkflowWithOptions(Specialist, workflow.RegisterOptions{Name: contract.Specialist})
	w.RegisterWorkflowWithOptions(Summarize, workflow.RegisterOptions{Name: contract.Summarize})
	w.RegisterWorkflowWithOptions(Sweep, workflow.RegisterOptions{Name: contract.Sweep})
	w.RegisterWorkflowWithOptions(Train, workflow.RegisterOptions{Name: contract.Train})
	w.RegisterWorkflowWithOptions(TrainEpisode, workflow.RegisterOptions{Name: contract.TrainEpisode})
	w.RegisterWorkflowWithOptions(TrainIteration, workflow.RegisterOptions{Name: contract.TrainIteration})
	w.RegisterWorkflowWithOptions(TrainStage, workflow.RegisterOptions{Name: contract.TrainStage})
}

// RegisterNearModels registers the workflows that run on the queue of their steps.
func RegisterNearModels(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(Turn, workflow.RegisterOptions{Name: contract.Turn})
	w.RegisterWorkflowWithOptions(Completion, workflow.RegisterOptions{Name: contract.Completion})
	w.RegisterWorkflowWithOptions(Distill, workflow.RegisterOptions{Name: contract.Distill})
	w.RegisterWorkflowWithOptions(Remember, workflow.RegisterOptions{Name: contract.Remember})
	w.RegisterWorkflowWithOptions(DistillSkill, workflow.RegisterOptions{Name: contract.DistillSkill})
}
