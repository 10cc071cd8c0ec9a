package activities

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/evaluation"
)

// evaluationService is a fake whose evaluations have ended, or not.
type evaluationService struct {
	calls
	over bool
}

func (s *evaluationService) measured() evaluation.Result {
	return evaluation.Result{Outcome: run.OverBudget, Rows: make([]evaluation.Row, 2)}
}

func (s *evaluationService) Open(_ context.Context, ref run.Ref) (evaluation.Size, *evaluation.Result, error) {
	return evaluation.Size{Units: 5, Prepared: 2, Parallel: 3}, unless(s.over, s.measured()),
		s.note("open evaluation %s", of(ref))
}

func (s *evaluationService) StartUnit(_ context.Context, ref run.Ref, unit int) (evaluation.Left, error) {
	return evaluation.Left{Await: true, Groups: 4}, s.note("start %s %d", of(ref), unit)
}

func (s *evaluationService) AwaitUnit(_ context.Context, ref run.Ref, unit int) error {
	return s.note("await %s %d", of(ref), unit)
}

func (s *evaluationService) Ask(_ context.Context, ref run.Ref, unit, group int) error {
	return s.note("ask %s %d %d", of(ref), unit, group)
}

func (s *evaluationService) Close(_ context.Context, ref run.Ref, code, reason string) (evaluation.Result, error) {
	return s.measured(), s.note("close evaluation %s %s %s", of(ref), code, reason)
}

func TestEvaluationActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &evaluationService{}
	a, c := Evaluations{Service: s}, &s.calls
	in, unit := contract.EvaluateInput{RunRef: runRef}, contract.UnitInput{RunRef: runRef, Unit: 4}
	opened := contract.OpenEvaluationResult{Units: 5, Prepared: 2, Parallel: 3}
	result := contract.EvaluateResult{Outcome: "over_budget", Rows: 2}
	translates(t, a.OpenEvaluation, in, c, "open evaluation 1/run_7", opened)
	translates(t, a.StartUnit, unit, c, "start 1/run_7 4", contract.StartUnitResult{Await: true, Groups: 4})
	calling(t, a.AwaitUnit, unit, c, "await 1/run_7 4")
	calling(t, a.AskUnit, contract.AskUnitInput{UnitInput: unit, Group: 3}, c, "ask 1/run_7 4 3")
	translates(t, a.CloseEvaluation, closing, c, "close evaluation 1/run_7 cancelled asked", result)
	s.over, opened.Ended = true, &result
	translates(t, a.OpenEvaluation, in, c, "open evaluation 1/run_7", opened)
}

// A unit whose run has not ended is asked for again; a budget that is used up is final.
func TestAUnitThatHasNotEndedIsAwaited(t *testing.T) {
	t.Parallel()
	s := &evaluationService{}
	a := Evaluations{Service: s}
	for code, final := range map[fault.Code]bool{fault.Unavailable: false, fault.QuotaExceeded: true} {
		s.err = fault.New(code, "no", "")
		err := perform(t, a.AwaitUnit, contract.UnitInput{RunRef: runRef})
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.NonRetryable() != final || app.Type() != string(code) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
