package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/channel"
	"cairn/internal/service/ledger"
)

// failing runs a step and an effect whose methods fail with err, and returns the errors of the
func failing(t *testing.T, m mode, err error) map[string]error {
	t.Helper()
	in := contract.RunRef{Run: "run_7"}
	result := step(m, func(context.Context, contract.RunRef) (contract.SegmentResult, error) {
		return contract.SegmentResult{Ended: true}, err
	})
	without := effect(m, func(context.Context, contract.RunRef) error { return err })
	_, of := execute(t, result, in)
	return map[string]error{"step": of, "effect": perform(t, without, in)}
}

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
		for _, m := range []mode{quick, slow} {
			for of, err := range failing(t, m, c.err) {
				checkError(t, name+", "+of, err, c.code, c.final, c.benign, c.wait)
			}
		}
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
	for name, err := range failing(t, slow, fmt.Errorf("ask: %w", context.Canceled)) {
		var app *temporal.ApplicationError
		if err == nil || errors.As(err, &app) && app.Type() == string(fault.Cancelled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A bank or a target that is not free yet is part of normal operation.
func TestWaitingForATurnIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, err := range failing(t, queued, fault.New(fault.Unavailable, "another has it", "")) {
		checkError(t, name, err, string(fault.Unavailable), false, true, 0)
	}
	for _, code := range []fault.Code{fault.NotFound, fault.QuotaExceeded} {
		for name, err := range failing(t, queued, fault.New(code, "no", "")) {
			checkError(t, name, err, string(code), true, false, 0)
		}
	}
}

// A chat platform may state when to try again.
func TestAPlatformThatRefusesIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, err := range failing(t, sends, &channel.SendError{Reason: "slow down", RetryAfter: time.Minute}) {
		checkError(t, name, err, string(fault.RateLimited), false, true, time.Minute)
	}
	for name, err := range failing(t, sends, fault.New(fault.NotFound, "no such delivery", "")) {
		checkError(t, name, err, string(fault.NotFound), true, false, 0)
	}
}
