package workflows_test

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"cairn/internal/domain/contract"
)

// nothing is the result of activities that have none.
type nothing = struct{}

// stub registers an activity, so that it can be mocked.
func stub[I, R any](e *environment, name string) {
	e.RegisterActivityWithOptions(func(context.Context, I) (out R, err error) {
		return out, errors.New(name + " is not mocked")
	}, activity.RegisterOptions{Name: name})
}

// registerActivities registers every activity.
func registerActivities(e *environment) {
	registerDistill(e)
	registerConversation(e)
	registerAgents(e)
	registerLearning(e)
	stub[contract.EraseRef, nothing](e, contract.EraseFence)
	stub[contract.EraseRef, nothing](e, contract.EraseStop)
	stub[contract.EraseRef, nothing](e, contract.EraseDerived)
	stub[contract.EraseRef, nothing](e, contract.EraseCount)
	stub[contract.EraseRef, nothing](e, contract.EraseRows)
	stub[contract.EraseRef, nothing](e, contract.EraseObjects)
	stub[contract.EraseRef, contract.EraseResult](e, contract.EraseEnd)
	stub[contract.DeliverInput, contract.NextDeliveryResult](e, contract.NextDelivery)
	stub[contract.DeliveryInput, contract.SendPartResult](e, contract.SendPart)
	stub[contract.GiveUpInput, nothing](e, contract.GiveUp)
	stub[contract.RememberInput, contract.AddSessionsResult](e, contract.AddSessions)
	stub[contract.CloseAddsInput, nothing](e, contract.CloseAdds)
	stub[contract.ReembedInput, nothing](e, contract.ReembedBegin)
	stub[contract.ReembedBatchInput, contract.ReembedBatchResult](e, contract.ReembedBatch)
	stub[contract.ReembedSwitchInput, contract.ReembedSwitchResult](e, contract.ReembedSwitch)
	stub[contract.ReembedMarkInput, nothing](e, contract.ReembedMark)
	stub[contract.SweepPageInput, contract.SweepCounts](e, contract.SweepPage)
	stub[contract.CurateInput, contract.CurateResult](e, contract.CurateSkills)
	stub[contract.GroupInput, contract.CompressResult](e, contract.Compress)
	stub[contract.CloseOffloadInput, contract.OffloadResult](e, contract.CloseOffload)
	stub[contract.RunRef, contract.OffloadResult](e, contract.AwaitOffload)
}

func registerDistill(e *environment) {
	stub[contract.RunRef, contract.SegmentResult](e, contract.Segment)
	stub[contract.TaskRef, contract.DraftResult](e, contract.Draft)
	stub[contract.TaskRef, contract.WriteResult](e, contract.WriteFiles)
	stub[contract.TaskRef, nothing](e, contract.Judge)
	stub[contract.TaskRef, nothing](e, contract.Compare)
	stub[contract.TaskRef, contract.PublishResult](e, contract.Publish)
	stub[contract.TaskRef, nothing](e, contract.Merge)
	stub[contract.EndTaskInput, contract.TaskResult](e, contract.EndTask)
	stub[contract.TaskRef, nothing](e, contract.AwaitTask)
	stub[contract.CloseInput, contract.DistillResult](e, contract.CloseRun)
}

func registerConversation(e *environment) {
	stub[contract.RunRef, nothing](e, contract.Transcribe)
	stub[contract.StepInput, contract.StepResult](e, contract.Step)
	stub[contract.ToolInput, nothing](e, contract.RunTool)
	stub[contract.CloseAgentInput, contract.AgentResult](e, contract.CloseAgent)
	stub[contract.CountInput, contract.AgentResult](e, contract.CountTurn)
	stub[contract.RunRef, contract.AgentResult](e, contract.AwaitTurn)
	stub[contract.NudgeInput, contract.OpenNudgeResult](e, contract.OpenNudge)
	stub[contract.ApproveWriteInput, contract.ApproveWriteResult](e, contract.ApproveWrite)
	stub[contract.CloseConversationInput, nothing](e, contract.CloseConversation)
	stub[contract.ReflectionInput, contract.OpenReflectionResult](e, contract.OpenReflection)
	stub[contract.RunRef, contract.DistillDayResult](e, contract.DistillDay)
}

func registerAgents(e *environment) {
	stub[contract.AgentInput, contract.KeepSessionResult](e, contract.KeepSession)
	stub[contract.ToolInput, contract.HandOffResult](e, contract.HandOff)
	stub[contract.RecordHandOffInput, nothing](e, contract.RecordHandOff)
	stub[contract.AgentInput, contract.TakeTargetResult](e, contract.TakeTarget)
	stub[contract.TargetInput, nothing](e, contract.FreeTarget)
	stub[contract.RunRef, contract.AgentResult](e, contract.AwaitAgent)
	stub[contract.IdleInput, contract.IdleResult](e, contract.ReadIdle)
	stub[contract.RunRef, contract.RerankResult](e, contract.RerankFound)
	stub[contract.CondenseInput, nothing](e, contract.CondenseFound)
	stub[contract.CloseRefineInput, contract.RefineResult](e, contract.CloseRefine)
}

func registerLearning(e *environment) {
	stub[contract.BuildInput, contract.OpenBuildResult](e, contract.OpenBuild)
	stub[contract.SpanInput, contract.BuildSpanResult](e, contract.BuildSpan)
	stub[contract.CloseInput, contract.BuildResult](e, contract.CloseBuild)
	stub[contract.TrainInput, contract.OpenTrainingResult](e, contract.OpenTraining)
	stub[contract.EpisodeInput, nothing](e, contract.PlayEpisode)
	stub[contract.IterationInput, contract.IterationResult](e, contract.Learn)
	stub[contract.StageInput, contract.StageResult](e, contract.CloseStage)
	stub[contract.TrialInput, nothing](e, contract.TrainTrial)
	stub[contract.CloseInput, contract.TrainResult](e, contract.CloseTraining)
	stub[contract.EvolveInput, contract.OpenRoundResult](e, contract.OpenRound)
	stub[contract.EvolveInput, contract.MineRoundResult](e, contract.MineRound)
	stub[contract.EvolveInput, contract.DesignRoundResult](e, contract.DesignRound)
	stub[contract.TrialInput, nothing](e, contract.Trial)
	stub[contract.CloseInput, contract.EvolveResult](e, contract.CloseRound)
	stub[contract.EvaluateInput, contract.OpenEvaluationResult](e, contract.OpenEvaluation)
	stub[contract.UnitInput, contract.StartUnitResult](e, contract.StartUnit)
	stub[contract.UnitInput, nothing](e, contract.AwaitUnit)
	stub[contract.AskUnitInput, nothing](e, contract.AskUnit)
	stub[contract.CloseInput, contract.EvaluateResult](e, contract.CloseEvaluation)
	stub[contract.AdaptInput, contract.OpenAdaptResult](e, contract.OpenAdapt)
	stub[contract.AdaptInput, contract.AdaptPolicyResult](e, contract.AdaptPolicy)
	stub[contract.TrialInput, nothing](e, contract.ShadowTrial)
	stub[contract.CloseInput, contract.AdaptResult](e, contract.CloseAdapt)
	stub[contract.ProbeInput, contract.OpenProbeResult](e, contract.OpenProbe)
	stub[contract.ProbeInput, contract.MakeProbesResult](e, contract.MakeProbes)
	stub[contract.AskInput, nothing](e, contract.AskProbe)
	stub[contract.CloseInput, contract.ProbeResult](e, contract.CloseProbe)
}
