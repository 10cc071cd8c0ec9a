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
			Agents{}.RegisterSteps(r)
		}, []string{
			contract.AdaptPolicy, contract.CloseStage, contract.DesignRound, contract.HandOff, contract.Learn,
			contract.MineRound, contract.OpenNudge, contract.PlayEpisode, contract.Publish, contract.RecordHandOff,
			contract.RunTool, contract.ShadowTrial, contract.Step, contract.TrainTrial, contract.Trial,
		}},
		contract.QueueSandbox: {
			func(r *registry) { AgentRuns{}.RegisterSandbox(r) }, []string{contract.RunTool},
		},
		contract.QueueMain: {func(r *registry) {
			Erase{}.RegisterMain(r)
			Sweep{}.RegisterMain(r)
			Reflect{}.RegisterMain(r)
		}, []string{
			contract.CurateSkills, contract.DistillDay, contract.EraseCount, contract.EraseDerived, contract.EraseEnd,
			contract.EraseFence, contract.EraseObjects, contract.EraseRows, contract.EraseStop,
			contract.OpenReflection, contract.SweepPage,
		}},
	} {
		if got := registered(c.register); !slices.Equal(got, c.want) {
			t.Errorf("%s hosts %v, want %v", queue, got, c.want)
		}
	}
}
