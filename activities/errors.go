package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/ledger"
)

// temporalError tells Temporal whether and when an attempt is worth repeating.
// The type of an application error is the fault's code.
func temporalError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var busy *ledger.BusyError
	if errors.As(err, &busy) {
		return benign(err, "busy", busy.After+busyMargin)
	}
	var model *llm.Error
	if errors.As(err, &model) {
		f := model.Fault()
		if fault.Table[f.Code].Retryable {
			return benign(err, string(f.Code), model.RetryAfter)
		}
		return temporal.NewNonRetryableApplicationError(err.Error(), string(f.Code), err)
	}
	code := fault.CodeOf(err)
	// An unexpected failure is tried again, too: it may be a defect that the next
	// deploy mends, and what was accepted is not to be lost to it.
	if code == fault.Internal || fault.Table[code].Retryable {
		return temporal.NewApplicationErrorWithCause(err.Error(), string(code), err)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), string(code), err)
}

// busyMargin lets the other attempt store its reply.
const busyMargin = 20 * time.Millisecond

// benign is an error that is part of normal work: it is retried after wait, and
// neither logged as an error nor counted as a failure.
func benign(err error, code string, wait time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), code, temporal.ApplicationErrorOptions{
		Cause: err, NextRetryDelay: wait, Category: temporal.ApplicationErrorCategoryBenign})
}

// queueError is temporalError of a step that waits until something is free: that it
// is not yet is part of normal work.
func queueError(err error) error {
	if fault.CodeOf(err) == fault.Unavailable {
		return benign(err, string(fault.Unavailable), 0)
	}
	return temporalError(err)
}
