package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"cairn/activities"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/ledger"
)

func TestErrorsSayWhetherAndWhenToTryAgain(t *testing.T) {
	t.Parallel()
	busy := &ledger.BusyError{After: time.Second}
	wrapped := fmt.Errorf("step 1: %w", busy)
	overloaded := &llm.Error{Class: llm.Retryable, Status: 503, RetryAfter: 9 * time.Second, Message: "overloaded"}
	rejected := &llm.Error{Class: llm.Fatal, Status: 400, Message: "no such model"}
	for name, c := range map[string]struct {
		err    error
		code   string
		final  bool
		benign bool
		wait   time.Duration
	}{
		"busy":             {busy, "busy", false, true, time.Second + 20*time.Millisecond},
		"busy, wrapped":    {wrapped, "busy", false, true, time.Second + 20*time.Millisecond},
		"model overloaded": {overloaded, string(fault.Unavailable), false, true, 9 * time.Second},
		"model rejects":    {rejected, string(fault.ModelRejected), true, false, 0},
		"unavailable":      {fault.New(fault.Unavailable, "away", ""), string(fault.Unavailable), false, false, 0},
		"rate limited":     {fault.New(fault.RateLimited, "too many", ""), string(fault.RateLimited), false, false, 0},
		"wrong argument": {fault.New(fault.InvalidArgument, "no", ""), string(fault.InvalidArgument), true, false,
			0},
		"being erased":      {fault.New(fault.Erasing, "no", ""), string(fault.Erasing), true, false, 0},
		"unexpected":        {errors.New("a defect"), string(fault.Internal), false, false, 0},
		"unexpected, coded": {fault.New(fault.Internal, "a defect", ""), string(fault.Internal), false, false, 0},
	} {
		service := &distillService{calls: calls{err: c.err}}
		err := perform(t, activities.Distill{Service: service}.Judge, contract.TaskRef{RunRef: runRef})
		checkError(t, name, err, c.code, c.final, c.benign, c.wait)
	}
}

func checkError(t *testing.T, name string, err error, code string, final, benign bool, wait time.Duration) {
	t.Helper()
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		t.Errorf("%s: %v", name, err)
		return
	}
	if app.Type() != code || app.NonRetryable() != final || app.NextRetryDelay() != wait {
		t.Errorf("%s: type %s, final %t, after %s", name, app.Type(), app.NonRetryable(), app.NextRetryDelay())
	}
	if got := app.Category() == temporal.ApplicationErrorCategoryBenign; got != benign {
		t.Errorf("%s: benign %t", name, got)
	}
}

func TestACancelledActivityIsCancelled(t *testing.T) {
	t.Parallel()
	service := &distillService{calls: calls{err: fmt.Errorf("ask: %w", context.Canceled)}}
	err := perform(t, activities.Distill{Service: service}.Judge, contract.TaskRef{RunRef: runRef})
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) && app.Type() == string(fault.Cancelled) {
		t.Errorf("%v", err)
	}
}

// A bank or a target that is not free yet is part of normal operation.
func TestWaitingForATurnIsNoFailure(t *testing.T) {
	t.Parallel()
	taken := calls{err: fault.New(fault.Unavailable, "another has it", "")}
	skills := skillsOf(&learningService{calls: taken})
	agents := activities.Agents{Service: &agentService{calls: taken}}
	_, round := execute(t, skills.OpenRound, contract.EvolveInput{RunRef: runRef})
	_, update := execute(t, skills.OpenAdapt, contract.AdaptInput{RunRef: runRef})
	_, training := execute(t, skills.OpenTraining, contract.TrainInput{RunRef: runRef})
	_, target := execute(t, agents.TakeTarget, contract.AgentInput{RunRef: runRef})
	for name, err := range map[string]error{"round": round, "update": update, "training": training, "target": target} {
		checkError(t, name, err, string(fault.Unavailable), false, true, 0)
	}
	skills = skillsOf(&learningService{calls: calls{err: fault.New(fault.NotFound, "no such run", "")}})
	_, err := execute(t, skills.OpenRound, contract.EvolveInput{RunRef: runRef})
	checkError(t, "another failure", err, string(fault.NotFound), true, false, 0)
}
