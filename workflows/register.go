package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	flow "cairn/internal/domain/contract"
)

// Register makes w host every workflow.
func Register(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(Distill, workflow.RegisterOptions{Name: flow.Distill})
	w.RegisterWorkflowWithOptions(DistillSkill, workflow.RegisterOptions{Name: flow.DistillSkill})
	w.RegisterWorkflowWithOptions(distillTask, workflow.RegisterOptions{Name: flow.DistillTask})
	w.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: flow.Conversation})
	w.RegisterWorkflowWithOptions(Turn, workflow.RegisterOptions{Name: flow.Turn})
	w.RegisterWorkflowWithOptions(Nudge, workflow.RegisterOptions{Name: flow.Nudge})
	w.RegisterWorkflowWithOptions(Erase, workflow.RegisterOptions{Name: flow.Erase})
	w.RegisterWorkflowWithOptions(Summarize, workflow.RegisterOptions{Name: flow.Summarize})
	w.RegisterWorkflowWithOptions(Specialist, workflow.RegisterOptions{Name: flow.Specialist})
	w.RegisterWorkflowWithOptions(Sweep, workflow.RegisterOptions{Name: flow.Sweep})
	w.RegisterWorkflowWithOptions(Curate, workflow.RegisterOptions{Name: flow.Curate})
	w.RegisterWorkflowWithOptions(Retrieve, workflow.RegisterOptions{Name: flow.Retrieve})
	w.RegisterWorkflowWithOptions(Refine, workflow.RegisterOptions{Name: flow.Refine})
	w.RegisterWorkflowWithOptions(Reflection, workflow.RegisterOptions{Name: flow.ReflectionWorkflow})
	w.RegisterWorkflowWithOptions(Offload, workflow.RegisterOptions{Name: flow.Offload})
	w.RegisterWorkflowWithOptions(Build, workflow.RegisterOptions{Name: flow.Build})
	w.RegisterWorkflowWithOptions(Train, workflow.RegisterOptions{Name: flow.Train})
	w.RegisterWorkflowWithOptions(TrainStage, workflow.RegisterOptions{Name: flow.TrainStage})
	w.RegisterWorkflowWithOptions(TrainIteration, workflow.RegisterOptions{Name: flow.TrainIteration})
	w.RegisterWorkflowWithOptions(TrainEpisode, workflow.RegisterOptions{Name: flow.TrainEpisode})
	w.RegisterWorkflowWithOptions(Evolve, workflow.RegisterOptions{Name: flow.Evolve})
	w.RegisterWorkflowWithOptions(Adapt, workflow.RegisterOptions{Name: flow.Adapt})
	w.RegisterWorkflowWithOptions(Probe, workflow.RegisterOptions{Name: flow.Probe})
}

// RegisterNearModels makes w host what runs on the queue of its steps.
func RegisterNearModels(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(Turn, workflow.RegisterOptions{Name: flow.Turn})
	w.RegisterWorkflowWithOptions(Distill, workflow.RegisterOptions{Name: flow.Distill})
	w.RegisterWorkflowWithOptions(DistillSkill, workflow.RegisterOptions{Name: flow.DistillSkill})
	w.RegisterWorkflowWithOptions(distillTask, workflow.RegisterOptions{Name: flow.DistillTask})
}
