package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/llm"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/reflection"
	"cairn/internal/testkit"
)

// sweeps starts the reflection of a date as the sweep does, when its window ends at 23:00, and
// waits for the end of the workflow.
func sweeps(b *apptest.Bundle, date string) (out contract.ReflectionResult) {
	b.T.Helper()
	in := contract.ReflectionInput{Workspace: b.Workspace.Key, Date: date, Zone: "UTC", To: at(b.T, date+" 23:00"),
		Why: contract.ReflectionOfSweep}
	w, err := b.Temporal.ExecuteWorkflow(b.T.Context(),
		client.StartWorkflowOptions{ID: contract.ReflectionID(b.Workspace.Key, date), TaskQueue: contract.QueueMain},
		contract.ReflectionWorkflow, in)
	testkit.Must(b.T, err)
	testkit.Must(b.T, w.Get(b.T.Context(), &out))
	return out
}

func TestAWorkerThatDiesAfterANoteDoublesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	imported(b, "c", talk(t, "2026-03-01 10:00", "We have picked the blue tiles.", "Noted.")...)
	b.Model.On(openaitest.Rule{Stage: "reflection", Last: llm.RoleUser,
		Calls: []llm.ToolCall{noting("Blue tiles were picked.", 1), remembering("The user likes blue.", 1)}})
	b.Model.On(openaitest.Rule{Stage: "reflection", Last: llm.RoleTool, Times: 1, Barrier: "held", Drop: true})
	b.Model.On(openaitest.Rule{Stage: "reflection", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
	worker := b.StartProcess()
	opened, err := b.Reflections.Now(t.Context(), b.Workspace, reflection.DateRequest{Date: "2026-03-01"})
	testkit.Must(t, err)
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	if n := count(b, "select count(*) from cairn.memories where type = 'note'"); n != 1 {
		t.Fatalf("%d notes when the worker dies", n)
	}
	worker.Kill()
	b.Model.Release("held")
	b.StartProcess()
	got := reflected(b, opened.Run)
	if got.Status != domainreflection.Saved || len(got.Notes) != 1 || got.Memories != 1 || got.Runs[0].Steps != 2 {
		t.Errorf("the day came to %+v", got)
	}
	if n := count(b, "select count(*) from cairn.memory_revisions"); n != 2 {
		t.Errorf("%d versions were written", n)
	}
	b.Record(got.Runs[0].WorkflowID, "Reflection/crashed")
}

// A night without a model leaves its messages to the next night. Messages that three nights
// could not read are skipped with a log entry. Later messages are read.
func TestWhatNoNightCanReadIsPassedOver(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	for day, text := range []string{"The first day was rainy.", "The second day was windy.", "The third day was calm.",
		"The fourth day was sunny."} {
		imported(b, fmt.Sprint(day), talk(t, fmt.Sprintf("2026-03-0%d 10:00", day+1), text, "Noted.")...)
	}
	b.Model.On(openaitest.Rule{Stage: "reflection", Times: 3, Status: 401, Reply: "no such key"})
	scriptReflection(b, noting("It was windy, then calm, then sunny.", 1, 3))
	for n, date := range []string{"2026-03-01", "2026-03-02", "2026-03-03"} {
		if out := sweeps(b, date); out.Status != domainreflection.Failed {
			t.Fatalf("%s came to %+v", date, out)
		}
		if marks := count(b, "select count(*) from cairn.conversation_marks where kind = 'reflection'"); marks != n/2 {
			t.Errorf("%d marks after %d failures", marks, n+1)
		}
	}
	failed, err := b.App.Reflect.Show(t.Context(), b.Workspace.ID, "2026-03-03")
	testkit.Must(t, err)
	if r := failed.Runs[0]; !r.Alert || r.Failures != 3 || r.Skipped != 2 || failed.Failures != 3 ||
		!strings.Contains(failed.Day.Reason, "2 messages were skipped") {
		t.Errorf("the third failure came to %+v", failed)
	}
	b.Record(failed.Runs[0].WorkflowID, "Reflection/failed")
	if out := sweeps(b, "2026-03-04"); out.Status != domainreflection.Saved {
		t.Fatalf("the fourth night came to %+v", out)
	}
	told := asked(b, "reflection")[3].Messages[1].Content
	if strings.Contains(told, "rainy") || !strings.Contains(told, "windy") || !strings.Contains(told, "sunny") {
		t.Errorf("it was told %s", told)
	}
	if marks := count(b,
		"select count(*) from cairn.conversation_marks where kind = 'reflection' and seq = 1"); marks != 4 {
		t.Errorf("%d conversations are read", marks)
	}
	if got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"}); got.Status != domainreflection.Saved &&
		got.Status != domainreflection.Nothing {
		t.Errorf("the day that was passed over cannot be made up for: %+v", got)
	}
}

func TestACancelledReflectionGivesBackWhatItTook(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	imported(b, "c", talk(t, "2026-03-01 10:00", "We have picked the blue tiles.", "Noted.")...)
	b.Model.On(openaitest.Rule{Stage: "reflection", Times: 1, Barrier: "held", Drop: true})
	scriptReflection(b, noting("Blue tiles were picked.", 1))
	opened, err := b.Reflections.Now(t.Context(), b.Workspace, reflection.DateRequest{Date: "2026-03-01"})
	testkit.Must(t, err)
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	testkit.Must(t, b.Temporal.CancelWorkflow(t.Context(), opened.Run.WorkflowID, ""))
	got := reflected(b, opened.Run) // while the request is open: one that fails first is a failure of the endpoint's
	b.Model.Release("held")
	if r := got.Runs[0]; r.Status != domainreflection.Failed || r.Reason != "interrupted" || r.Failures != 0 {
		t.Errorf("cancelled it came to %+v", r)
	}
	if n := count(b, "select count(*) from cairn.reflection_reads") +
		count(b, "select count(*) from cairn.conversation_marks"); n != 0 {
		t.Errorf("%d rows say that it was read", n)
	}
	b.Record(opened.Run.WorkflowID, "Reflection/cancelled")
	if again := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"}); again.Status != domainreflection.Saved ||
		again.Runs[0].Generation != 2 {
		t.Errorf("done again it came to %+v", again)
	}
}

// A day that exceeds one request is sent in parts, each once and separately.
func TestALongDayIsShownInParts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	var messages []transcript.Message
	for i := range 60 {
		said := fmt.Sprintf("Report number %d says that all is well. %s", i, strings.Repeat("lorem ipsum ", 300))
		messages = append(messages, talk(t, "2026-03-01 10:00", said, "Noted.")...)
	}
	imported(b, "c", messages...)
	b.Model.On(openaitest.Rule{Stage: "reflection", Match: `Report number 0 says`,
		Calls: []llm.ToolCall{noting("All was well in the beginning.", 1)}})
	b.Model.On(openaitest.Rule{Stage: "reflection", Reply: "Nothing more to save."})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
	got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	r := got.Runs[0]
	if got.Status != domainreflection.Saved || r.Parts < 2 || r.PartsRead != r.Parts || r.Steps != r.Parts+1 {
		t.Fatalf("the day came to %+v", r)
	}
	shown := map[int]int{}
	for _, request := range asked(b, "reflection") {
		var user string
		for _, m := range request.Messages[1:] {
			user += m.Content
		}
		for i := range 60 {
			if strings.Contains(user, fmt.Sprintf("Report number %d says", i)) {
				shown[i]++
			}
		}
	}
	for i := range 60 {
		if shown[i] == 0 || i > 0 && shown[i] > 2 {
			t.Errorf("report %d was shown %d times", i, shown[i])
		}
	}
	b.Record(r.WorkflowID, "Reflection/parts")
	validThreads(t, b)
}

// The sweep reads the afternoon of a day whose morning was reflected on before the day ended.
func TestTheSweepReadsWhatCameAfterwards(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	scriptReflection(b)
	b.Say("c", 1, "We fly on Friday.")
	if got := reflectOn(b, reflection.DateRequest{}); got.Status != domainreflection.Nothing {
		t.Fatalf("so far the day came to %+v", got)
	}
	b.Say("c", 2, "No, on Saturday.")
	date := time.Now().UTC().Format(time.DateOnly)
	in := contract.ReflectionInput{Workspace: b.Workspace.Key, Date: date, Zone: "UTC", To: time.Now().Add(time.Minute),
		Why: contract.ReflectionOfSweep}
	w, err := b.Temporal.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: contract.ReflectionID(b.Workspace.Key, date), TaskQueue: contract.QueueMain},
		contract.ReflectionWorkflow, in)
	testkit.Must(t, err)
	testkit.Must(t, w.Get(t.Context(), nil))
	got, err := b.App.Reflect.Show(t.Context(), b.Workspace.ID, date)
	testkit.Must(t, err)
	if len(got.Runs) != 2 || got.Runs[0].Messages != 2 ||
		got.Runs[0].WorkflowID != contract.ReflectionID(b.Workspace.Key, date) {
		t.Errorf("the day came to %+v", got)
	}
}

func TestADayIsDistilledOnce(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	for _, m := range [][2]string{{"2026-03-01", "a"}, {"2026-03-02", "b"}} {
		var messages []transcript.Message
		for i := range 4 {
			messages = append(messages, talk(t, m[0]+" 10:00",
				fmt.Sprintf("Step %d of the release is to tag it %s.", i, m[1]), "Noted.")...)
		}
		imported(b, m[1], messages...)
	}
	scriptReflection(b)
	first := sweeps(b, "2026-03-01")
	second := sweeps(b, "2026-03-02")
	b.RecordEnded(contract.ReflectionID(b.Workspace.Key, "2026-03-02"), "Reflection/distils")
	if first.Distills != 1 || second.Distills != 1 ||
		count(b, "select count(*) from cairn.runs where kind = 'distill'") != 2 {
		t.Errorf("%d, then %d distillations were started", first.Distills, second.Distills)
	}
	testkit.Eventually(t, "they have ended", func() bool {
		return count(b, "select count(*) from cairn.runs where kind = 'distill' and status = 'ended'") == 2
	})
	if n := count(b, "select count(*) from cairn.conversation_marks where kind = 'distill' and seq = 7"); n != 2 {
		t.Errorf("%d conversations are marked as distilled", n)
	}
}

// A reflection belongs to several conversations. Erasing one removes its text from the requests
// and replies of the reflection.
func TestErasingAConversationErasesWhatAReflectionWasTold(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	id := imported(b, "secret", talk(t, "2026-03-01 10:00", "The password of the vault is a zebra.", "Noted.")...)
	imported(b, "plain", talk(t, "2026-03-01 10:00", "The weather is fine.", "Noted.")...)
	scriptReflection(b, noting("The vault opens by a zebra.", 1), noting("The weather was fine.", 3))
	got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	if len(got.Notes) != 2 {
		t.Fatalf("the day came to %+v", got)
	}
	e, err := b.App.Erase.Accept(t.Context(),
		erasure.Target{Workspace: b.Workspace.ID, Conversation: id, Derived: "delete"})
	testkit.Must(t, err)
	testkit.Must(t, b.Driver.Erase(t.Context(), e.Start()))
	testkit.Eventually(t, "it is erased", func() bool {
		now, err := b.App.Erase.Report(t.Context(), b.Workspace.ID, e.ID)
		return err == nil && now.Ended
	})
	for _, column := range []string{"llm_calls.request", "request_parts.content", "llm_calls.tool_calls",
		"agent_steps.content",
		"agent_calls.arguments", "memories.content", "search_docs.text", "runs.result", "runs.spec",
		"messages.content"} {
		table, name, _ := strings.Cut(column, ".")
		if n := count(b, fmt.Sprintf("select count(*) from cairn.%s where %s::text ilike '%%zebra%%'", table,
			name)); n != 0 {
			t.Errorf("%d rows of %s hold words of it", n, column)
		}
	}
	if left := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"}); len(left.Notes) != 1 ||
		left.Runs[0].State != run.Ended {
		t.Errorf("the day is now %+v", left)
	}
}
