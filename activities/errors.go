package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/channel"
	"cairn/internal/service/ledger"
)

// temporalError converts an error for Temporal, which decides whether and when to retry. The type
// of an application error is the fault's code.
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
	// An unexpected failure is retried, too: the next deployment may fix it, and accepted work must
	// not be lost.
	if code == fault.Internal || fault.Table[code].Retryable {
		return temporal.NewApplicationErrorWithCause(err.Error(), string(code), err)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), string(code), err)
}

// busyMargin is the extra time for the other attempt to store its reply.
const busyMargin = 20 * time.Millisecond

// benign returns an error that is part of normal operation. It is retried after wait, without an
// error log and without a failure metric.
func benign(err error, code string, wait time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), code, temporal.ApplicationErrorOptions{
		Cause: err, NextRetryDelay: wait, Category: temporal.ApplicationErrorCategoryBenign})
}

// sendError is temporalError for a message to a chat platform, which may state when to try again.
func sendError(err error) error {
	var refused *channel.SendError
	if errors.As(err, &refused) {
		return benign(err, string(fault.RateLimited), refused.RetryAfter)
	}
	return temporalError(err)
}

// queueError is temporalError for a step that waits for a free resource. Not being free yet is part
// of normal operation.
func queueError(err error) error {
	if fault.CodeOf(err) == fault.Unavailable {
		return benign(err, string(fault.Unavailable), 0)
	}
	return temporalError(err)
}
