// Package fault is the error type that users see, with the table of its codes. A code determines
// one HTTP status, one exit code of the command line, and whether a retry can succeed. No other
// package decides these.
//
//	return fault.New(fault.InvalidArgument, "line 3: unknown role \"robot\"",
//		"use one of user, assistant, tool, system")
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Error is a failure that a user or a calling program can act on.
type Error struct {
	Code    Code   // a row of Table
	Message string // what failed, with the position or the name
	Hint    string // one concrete next step, as an imperative
	// Extra holds the values that a program needs for that step, under the names of the response:
	// for example the closest lines or the current version. It never holds a secret.
	Extra map[string]any
	// RetryAfter is the time after which the request can succeed, 0 if it is not known.
	RetryAfter time.Duration
	cause      error
}

// New returns an Error. An empty hint selects the hint of the code's table row.
func New(code Code, message, hint string) *Error {
	if hint == "" {
		hint = Table[code].Hint
	}
	return &Error{Code: code, Message: message, Hint: hint}
}

// Newf is New with a formatted message and the hint of the code's table row.
func Newf(code Code, format string, args ...any) *Error {
	return New(code, fmt.Sprintf(format, args...), "")
}

// Wrap is New with a cause, which errors.Is and errors.As find.
func Wrap(cause error, code Code, message, hint string) *Error {
	e := New(code, message, hint)
	e.cause = cause
	return e
}

// With sets a member of Extra and returns e.
func (e *Error) With(name string, value any) *Error {
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[name] = value
	return e
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.cause)
	}
	return e.Message
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of err: Internal for an error without a code, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// From returns the Error in err, or wraps err as Internal. It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(err, Internal, "unexpected failure", "")
}
