package workflows_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func TestAnExecutionIsOfTheWorkspaceThatItsIdNames(t *testing.T) {
	t.Parallel()
	turn := contract.AgentInput{RunRef: contract.RunRef{WorkspaceKey: "mine"}}
	for name, c := range map[string]struct {
		id       string
		workflow any
		input    any
	}{
		"conversation": {contract.ConversationID("other", 7), workflows.Conversation,
			contract.ConversationInput{WorkspaceKey: "mine", Conversation: 7}},
		"turn":  {contract.TurnID("other", 7, "m1", 1), workflows.Turn, turn},
		"nudge": {contract.NudgeID("other", 7, 1), workflows.Nudge, contract.NudgeInput{WorkspaceKey: "mine"}},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: c.id, TaskQueue: contract.QueueMain})
		env.ExecuteWorkflow(c.workflow, c.input)
		var refused *temporal.ApplicationError
		if err := env.GetWorkflowError(); !errors.As(err, &refused) || refused.Type() != "out_of_scope" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
