package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/testsuite"

	"cairn/internal/domain/contract"
	"cairn/workflows"
)

func refineInput(rerank, rewrite bool) contract.RefineInput {
	return contract.RefineInput{RunRef: runRef, Timeouts: timeouts(), Rerank: rerank, Rewrite: rewrite}
}

func mockRefine(e *environment, problem string) {
	order := []contract.Place{{Candidate: 2, Score: 0.9}}
	gives[contract.RunRef](e, contract.RerankFound, contract.RerankResult{Order: order, Problem: problem})
	does[contract.CondenseInput](e, contract.CondenseFound)
	on(e, contract.CloseRefine, func(in contract.CloseRefineInput) (contract.RefineResult, error) {
		return contract.RefineResult{Problem: in.Problem}, nil
	})
}

func TestRefineDoesWhatIsAskedOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rerank, rewrite             bool
		problem                     string
		reranked, rewritten, closed int
	}{
		"both":         {true, true, "", 1, 1, 0},
		"order":        {true, false, "", 1, 0, 1},
		"text":         {false, true, "", 0, 1, 0},
		"no order":     {true, true, "no usable order", 1, 0, 1},
		"nothing ever": {false, false, "", 0, 0, 1},
	} {
		e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
		mockRefine(e, c.problem)
		e.ExecuteWorkflow(workflows.Refine, refineInput(c.rerank, c.rewrite))
		if out := result[contract.RefineResult](e); out.Problem != c.problem {
			t.Errorf("%s: %+v", name, out)
		}
		got := [3]int{
			e.calls(contract.RerankFound), e.calls(contract.CondenseFound), e.calls(contract.CloseRefine),
		}
		if got != [3]int{c.reranked, c.rewritten, c.closed} {
			t.Errorf("%s: steps %v", name, got)
		}
		if c.problem != "" && only[contract.CloseRefineInput](e, contract.CloseRefine).Order != nil {
			t.Errorf("%s: closed with an order", name)
		}
	}
}

func TestRefineHandsTheOrderOn(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, &testsuite.WorkflowTestSuite{})
	mockRefine(e, "")
	e.ExecuteWorkflow(workflows.Refine, refineInput(true, true))
	result[contract.RefineResult](e)
	in := only[contract.CondenseInput](e, contract.CondenseFound)
	if len(in.Order) != 1 || in.Order[0].Candidate != 2 {
		t.Errorf("%+v", in)
	}
	e.checkQueue(contract.CondenseFound, contract.QueueLLM)
}

func TestRefineClosesHoweverItEnds(t *testing.T) {
	t.Parallel()
	endings{
		workflow: workflows.Refine, input: refineInput(true, true),
		mock: func(e *environment) { mockRefine(e, "") }, closing: contract.CloseRefine,
		steps: []string{contract.RerankFound, contract.CondenseFound},
	}.check(t)
}
