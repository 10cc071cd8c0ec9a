package workflows_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	flow "cairn/internal/domain/contract"
	"cairn/workflows"
)

func TestAnExecutionIsOfTheWorkspaceThatItsIdNames(t *testing.T) {
	t.Parallel()
	turn := flow.AgentInput{RunRef: flow.RunRef{WorkspaceKey: "mine"}}
	for name, c := range map[string]struct {
		id       string
		workflow any
		input    any
	}{
		"conversation": {flow.ConversationID("other", 7), workflows.Conversation, flow.ConversationInput{WorkspaceKey: "mine", Conversation: 7}},
		"turn":         {flow.TurnID("other", 7, "m1", 1), workflows.Turn, turn},
		"nudge":        {flow.NudgeID("other", 7, 1), workflows.Nudge, flow.NudgeInput{WorkspaceKey: "mine"}},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: c.id, TaskQueue: flow.QueueMain})
		env.ExecuteWorkflow(c.workflow, c.input)
		var refused *temporal.ApplicationError
		if err := env.GetWorkflowError(); !errors.As(err, &refused) || refused.Type() != "out_of_scope" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
