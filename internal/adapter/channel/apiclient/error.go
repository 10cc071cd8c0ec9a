// Package apiclient has what the adapters share for requests to the APIs of platforms: errors without credentials,
// times to wait, tokens, and remembered results.
package apiclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Redact returns an error whose text has none of the secrets, and no URL of a request: some have credentials or are
// signed. errors.Is and errors.As find what they found in err.
func Redact(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var request *url.Error
	if errors.As(err, &request) {
		text = strings.ReplaceAll(text, request.Error(), withoutURL(request))
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "REDACTED")
		}
	}
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}

// withoutURL returns the text of an error of a request with the host instead of the URL.
func withoutURL(e *url.Error) string {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Op, u.Host, e.Err)
}

// redacted is an error with another text. It has no method Unwrap, so that no one prints the cause by mistake.
type redacted struct {
	text  string
	cause error
}

func (e *redacted) Error() string { return e.text }

// Is reports whether the cause is target.
func (e *redacted) Is(target error) bool { return errors.Is(e.cause, target) }

// As finds target in the cause.
func (e *redacted) As(target any) bool { return errors.As(e.cause, target) }

// longestWait is the longest time that a platform can make Cairn wait before it tries again.
const longestWait = time.Hour

// RetryAfter returns the time that the header Retry-After states in seconds or as a date. It is 0 without one, and at
// most an hour.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), longestWait)
	}
	return Seconds(text)
}

// Seconds returns a time that a header states in seconds. It is 0 for anything else, and at most an hour.
func Seconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, int(longestWait/time.Second))) * time.Second
}
