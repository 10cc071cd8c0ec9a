package apiclient

import (
	"context"
	"errors"
	"sync"
	"time"
)

// FetchToken asks a platform for a token, and returns how long it is valid.
type FetchToken func(ctx context.Context) (value string, valid time.Duration, err error)

// Token is a credential that a platform gives for some time. It is fetched when it is needed.
type Token struct {
	fetch  FetchToken
	margin time.Duration
	turn   chan struct{} // full while one request fetches; the others wait, but not longer than their context

	mu    sync.Mutex
	value string
	until time.Time // it is renewed then
}

// NewToken returns a Token that is renewed the time margin before it ends, but not before half of its life.
func NewToken(margin time.Duration, fetch FetchToken) *Token {
	return &Token{fetch: fetch, margin: margin, turn: make(chan struct{}, 1)}
}

// NoTokenError means that there is no token, so that a request was not sent.
type NoTokenError struct{ Cause error }

func (e *NoTokenError) Error() string { return "get a token: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *NoTokenError) Unwrap() error { return e.Cause }

// Get returns the token, and fetches one if there is none that is valid. Errors are NoTokenErrors.
func (t *Token) Get(ctx context.Context) (string, error) {
	if value := t.known(); value != "" {
		return value, nil
	}
	select {
	case <-ctx.Done():
		return "", &NoTokenError{ctx.Err()}
	case t.turn <- struct{}{}:
	}
	defer func() { <-t.turn }()
	if value := t.known(); value != "" { // another request has fetched it
		return value, nil
	}
	value, valid, err := t.fetch(ctx)
	if err == nil && value == "" {
		err = errors.New("the server states no token")
	}
	if err != nil {
		return "", &NoTokenError{err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value, t.until = value, time.Now().Add(max(valid/2, valid-t.margin))
	return value, nil
}

func (t *Token) known() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().After(t.until) {
		return ""
	}
	return t.value
}

// Do runs a request with the token. If it is refused because the token is not valid any more, Do runs it once more with
// another token.
func (t *Token) Do(ctx context.Context, request func(token string) error, isRefused func(error) bool) error {
	for again := true; ; again = false {
		value, err := t.Get(ctx)
		if err != nil {
			return err
		}
		if err = request(value); !again || !isRefused(err) {
			return err
		}
		t.forget(value)
	}
}

// forget drops a token that the platform does not accept.
func (t *Token) forget(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == value {
		t.value = ""
	}
}
