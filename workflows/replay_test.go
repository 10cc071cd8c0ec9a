package workflows_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

// Histories are stored as 1/<workflow>/<how it ended>.json. A change of a workflow's commands
// requires recording them again.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/histories/1/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for _, file := range files {
		recorded[filepath.Base(filepath.Dir(file))] = true
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			workflows.Register(replayer)
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
				file); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range []string{
		contract.Adapt, contract.Build, contract.Completion, contract.Conversation, contract.Curate, contract.Deliver,
		contract.Distill,
		contract.DistillSkill, contract.Erase, contract.Evolve, contract.Nudge, contract.Offload, contract.Probe,
		contract.Reembed, contract.Refine, contract.ReflectionWorkflow, contract.Retrieve, contract.Specialist,
		contract.Summarize, contract.Sweep, contract.Train, contract.TrainEpisode, contract.TrainIteration,
		contract.TrainStage, contract.Turn,
	} {
		if !recorded[name] {
			t.Errorf("no history of %s is kept", name)
		}
	}
}

// The histories include turns with calls for sandboxed workers: calls that ran, that no worker
// accepted, and whose worker died.
func TestIsolatedCallsAreAmongTheHistories(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"isolated": "EVENT_TYPE_ACTIVITY_TASK_COMPLETED",
		"unsandboxed": "TIMEOUT_TYPE_SCHEDULE_TO_START", "isolated-lost": "TIMEOUT_TYPE_HEARTBEAT"} {
		raw, err := os.ReadFile("testdata/histories/1/Turn/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if text := string(raw); !strings.Contains(text, contract.QueueSandbox) || !strings.Contains(text, want) {
			t.Errorf("%s: no call for %s, or nothing of %s", name, contract.QueueSandbox, want)
		}
	}
}

// Histories must not contain user text.
func TestHistoriesHoldNoText(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/histories/1/*/*.json")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for payload := range payloads(t, raw) {
			for _, word := range []string{"Checkout", "502", "healthy", "Rollback", "rollback", "kubectl", "hello",
				"tea", "coffee", "Grace likes", "All right", "Enough", "I am back", "bees", "talk", "lemon", "cellar",
				"crate", "warehouse"} {
				if strings.Contains(payload, word) {
					t.Errorf("%s: a payload holds %q: %s", file, word, payload)
				}
			}
		}
	}
}
