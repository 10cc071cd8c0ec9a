package activities

import (
	"maps"
	"slices"
	"testing"

	"go.temporal.io/sdk/activity"

	"cairn/internal/domain/contract"
)

// registry records the names of registered
type registry struct{ names map[string]bool }

func (r *registry) RegisterActivity(any) {}

func (r *registry) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) {
	r.names[o.Name] = true
}

func (r *registry) RegisterDynamicActivity(any, activity.DynamicRegisterOptions) {}

func registered(register func(r *registry)) []string {
	r := &registry{map[string]bool{}}
	register(r)
	return slices.Sorted(maps.Keys(r.names))
}

// The activity that closes a run must be on every queue of its workflow, because closeRun uses that
// queue.
func TestWhatClosesARunIsBesideItsWorkflow(t *testing.T) {
	t.Parallel()
	main := registered(func(r *registry) {
		Distill{}.RegisterMain(r)
		AgentRuns{}.RegisterMain(r)
		MemorySkills{}.RegisterMain(r)
		Evaluations{}.RegisterMain(r)
		Agents{}.RegisterMain(r)
		Offload{}.RegisterMain(r)
	})
	near := registered(func(r *registry) {
		Distill{}.RegisterLLM(r)
		AgentRuns{}.RegisterLLM(r)
	})
	for _, name := range []string{
		contract.CloseRun, contract.EndTask, contract.CloseAgent, contract.CloseBuild, contract.CloseTraining,
		contract.CloseRound, contract.CloseAdapt, contract.CloseProbe, contract.CloseOffload, contract.CloseRefine,
		contract.CloseEvaluation,
	} {
		if !slices.Contains(main, name) {
			t.Errorf("%s is not on %s", name, contract.QueueMain)
		}
	}
	for _, name := range []string{contract.CloseRun, contract.EndTask, contract.CloseAgent} { // see RegisterNearModels
		if !slices.Contains(near, name) {
			t.Errorf("%s is not on %s", name, contract.QueueLLM)
		}
	}
}

func TestQueuesHostTheirActivities(t *testing.T) {
	t.Parallel()
	for queue, c := range map[string]struct {
		register func(r *registry)
		want     []string
	}{
		contract.QueueBatch: {func(r *registry) {
			Distill{}.RegisterBatch(r)
			AgentRuns{}.RegisterBatch(r)
			MemorySkills{}.RegisterBatch(r)
			Evaluations{}.RegisterBatch(r)
			Agents{}.RegisterSteps(r)
		}, []string{
			contract.AdaptPolicy, contract.AskUnit, contract.CloseStage, contract.DesignRound, contract.HandOff,
			contract.Learn, contract.MineRound, contract.OpenNudge, contract.PlayEpisode, contract.Publish,
			contract.RecordHandOff, contract.RunTool, contract.ShadowTrial, contract.Step, contract.TrainTrial,
			contract.Trial,
		}},
		contract.QueueSandbox: {
			func(r *registry) { AgentRuns{}.RegisterSandbox(r) }, []string{contract.RunTool},
		},
		contract.QueueMain: {func(r *registry) {
			Erase{}.RegisterMain(r)
			Sweep{}.RegisterMain(r)
			Reflect{}.RegisterMain(r)
			Distill{}.RegisterMain(r)
			AgentRuns{}.RegisterMain(r)
			MemorySkills{}.RegisterMain(r)
			Evaluations{}.RegisterMain(r)
			Agents{}.RegisterMain(r)
			Offload{}.RegisterMain(r)
			Reembed{}.RegisterMain(r)
			Deliver{}.RegisterMain(r)
		}, []string{
			contract.ApproveWrite, contract.AwaitAgent, contract.AwaitOffload, contract.AwaitTask, contract.AwaitTurn,
			contract.AwaitUnit, contract.CloseAdapt, contract.CloseAgent, contract.CloseBuild,
			contract.CloseConversation, contract.CloseEvaluation, contract.CloseOffload, contract.CloseProbe,
			contract.CloseRefine, contract.CloseRound, contract.CloseRun, contract.CloseTraining, contract.CountTurn,
			contract.CurateSkills, contract.DistillDay, contract.EndTask, contract.EraseCount, contract.EraseDerived,
			contract.EraseEnd, contract.EraseFence, contract.EraseObjects, contract.EraseRows, contract.EraseStop,
			contract.FreeTarget, contract.GiveUp, contract.KeepSession, contract.NextDelivery, contract.OpenAdapt,
			contract.OpenBuild, contract.OpenEvaluation, contract.OpenProbe, contract.OpenReflection,
			contract.OpenRound, contract.OpenTraining, contract.ReadIdle, contract.ReembedBegin,
			contract.ReembedMark, contract.ReembedSwitch, contract.StartUnit, contract.SweepPage,
			contract.TakeTarget,
		}},
		contract.QueueLLM: {func(r *registry) {
			Distill{}.RegisterLLM(r)
			AgentRuns{}.RegisterLLM(r)
			MemorySkills{}.RegisterLLM(r)
			Agents{}.RegisterSteps(r)
			Agents{}.RegisterLLM(r)
			Offload{}.RegisterLLM(r)
			Reembed{}.RegisterLLM(r)
			Adds{}.RegisterLLM(r)
		}, []string{
			contract.AddSessions, contract.AskProbe, contract.AwaitTask, contract.BuildSpan, contract.CloseAdds,
			contract.CloseAgent, contract.CloseRun, contract.Compare, contract.Compress, contract.CondenseFound,
			contract.Draft, contract.EndTask, contract.HandOff, contract.Judge, contract.MakeProbes, contract.Merge,
			contract.RecordHandOff, contract.ReembedBatch, contract.RerankFound, contract.RunTool, contract.Segment,
			contract.Step, contract.Transcribe, contract.WriteFiles,
		}},
		contract.DeliverQueue("bot"): {
			func(r *registry) { Deliver{}.RegisterAccount(r) }, []string{contract.SendPart},
		},
	} {
		if got := registered(c.register); !slices.Equal(got, c.want) {
			t.Errorf("%s hosts %v, want %v", queue, got, c.want)
		}
	}
}
