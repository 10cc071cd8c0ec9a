package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// slowTool takes as long as its argument specifies. "stuck" never returns.
func slowTool(t *testing.T) tools.Tool {
	t.Helper()
	type arguments struct {
		What string `json:"what"`
	}
	type answer struct {
		Did string `json:"did"`
	}
	tool, err := tools.New(agent.ToolSpec{Name: "fetch_page", Description: "Fetch a page, which takes its time.",
		Class: agent.Slow, Origins: []agent.Origin{agent.OriginAgent}, ReadOnly: true},
		func(ctx context.Context, _ agent.Actor, in arguments) (answer, error) {
			if in.What == "stuck" {
				<-ctx.Done()
				return answer{}, ctx.Err()
			}
			return answer{Did: in.What}, nil
		})
	testkit.Must(t, err)
	return tool
}

// A slow tool is a separate activity with three more events. A tool that does not return is
// reported as late. The results are in the order of the calls.
func TestASlowToolIsAnActivityOfItsOwn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	events := map[int]int{}
	for _, slow := range []int{0, 1, 3} {
		b := apptest.OpenIdle(t, func(c *config.Config) { c.ToolTimeout = time.Second })
		memories, err := tools.Memory(b.Memory)
		testkit.Must(t, err)
		b.App.AgentRuns.Tools, err = tools.NewRegistry(append(memories, slowTool(t))...)
		testkit.Must(t, err)
		b.Start()
		fast := saying("memory_search", map[string]string{"query": "tea"})
		var calls []llm.ToolCall
		for i := range slow {
			calls = append(calls, saying("fetch_page",
				map[string]string{"what": []string{"first", "stuck", "last"}[i]}))
		}
		calls = append(calls, fast)
		b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), Calls: calls})
		b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Fetched."})
		if got := b.Say("c", 1, "Fetch them."); got.Reply != "Fetched." {
			t.Fatalf("answered %+v", got)
		}
		last := asked(b, "turn")[1]
		var results []string
		for _, m := range last.Messages {
			if m.Role == llm.RoleTool {
				results = append(results, m.Content)
			}
		}
		for i, want := range append([]string{`"did":"first"`, "timed out", `"did":"last"`}[:slow],
			`"ok":true`) {
			if len(results) != slow+1 || !strings.Contains(results[i], want) {
				t.Errorf("%d slow calls: result %d is not %s in %q", slow, i, want, results)
			}
		}
		validThreads(t, b)
		id := column[string](b, "select workflow_id from cairn.runs where kind = 'turn'")[0]
		// it may be answered a moment before
		testkit.Must(t, b.Temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil))
		history := b.Temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		var scheduled []string
		for history.HasNext() {
			e, err := history.Next()
			testkit.Must(t, err)
			if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
				scheduled = append(scheduled, a.ActivityType.Name)
			}
			switch e.EventType { // how many workflow tasks it takes depends on what comes together
			case enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED,
				enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			default:
				events[slow]++
			}
		}
		want := slices.Concat([]string{"Step"}, slices.Repeat([]string{"RunTool"}, slow), []string{"Step"})
		if fmt.Sprint(scheduled) != fmt.Sprint(want) {
			t.Errorf("activities %v, want %v", scheduled, want)
		}
	}
	if events[1] != events[0]+3 || events[3] != events[0]+9 {
		t.Errorf("events by slow calls: %v, want three more for each", events)
	}
}
