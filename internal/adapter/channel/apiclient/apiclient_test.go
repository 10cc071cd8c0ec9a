package apiclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/testkit"
)

func TestErrorsShowNeitherSecretsNorURLs(t *testing.T) {
	t.Parallel()
	cause := &url.Error{Op: "Get", URL: "https://files.example.org/plan.pdf?signature=s3cret", Err: context.Canceled}
	err := apiclient.Redact(fmt.Errorf("read a file of bot 12:abc: %w", cause), "12:abc", "")
	if want := "read a file of bot REDACTED: Get files.example.org: context canceled"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	var found *url.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &found) || found != cause {
		t.Error("the cause is not found")
	}
	if plain := errors.New("plain"); apiclient.Redact(plain, "secret").Error() != "plain" {
		t.Error("another error was changed")
	}
	if err := apiclient.Redact(&url.Error{Op: "parse", URL: "://s3cret", Err: errors.New("bad")}); strings.Contains(
		err.Error(), "s3cret") || apiclient.Redact(nil, "secret") != nil {
		t.Errorf("%v", err)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0,
		"99999999999": time.Hour, strconv.Itoa(1 << 62): time.Hour,
		time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat): 0,
		time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat):  time.Hour} {
		if got := apiclient.RetryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q is %s", text, got)
		}
	}
	soon := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	if got := apiclient.RetryAfter(http.Header{"Retry-After": {soon}}); got < 20*time.Second || got > 30*time.Second {
		t.Errorf("%q is %s", soon, got)
	}
}

var errOld = errors.New("the token is not valid")

func isOld(err error) bool { return errors.Is(err, errOld) }

func TestATokenIsKeptAndRenewedOnce(t *testing.T) {
	t.Parallel()
	fetched := 0
	token := apiclient.NewToken(time.Minute, func(context.Context) (string, time.Duration, error) {
		fetched++
		return strconv.Itoa(fetched), time.Hour, nil
	})
	var used []string
	use := func(valid string) error {
		return token.Do(t.Context(), func(token string) error {
			used = append(used, token)
			if token != valid {
				return errOld
			}
			return nil
		}, isOld)
	}
	testkit.Must(t, use("1"))
	testkit.Must(t, use("1"))
	testkit.Must(t, use("2"))
	if err := use("none"); !isOld(err) || strings.Join(used, " ") != "1 1 1 2 2 3" {
		t.Errorf("%v, used %q", err, used)
	}
}

// A request does not wait longer than its context for the token of another one.
func TestWaitingForATokenEndsWithTheContext(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	token := apiclient.NewToken(0, func(context.Context) (string, time.Duration, error) {
		close(asked)
		<-release
		return "t", time.Hour, nil
	})
	first := make(chan error, 1)
	go func() {
		_, err := token.Get(t.Context())
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var none *apiclient.NoTokenError
	if _, err := token.Get(ctx); !errors.As(err, &none) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	testkit.Must(t, <-first)
}

func TestAnEmptyTokenIsAnError(t *testing.T) {
	t.Parallel()
	token := apiclient.NewToken(0, func(context.Context) (string, time.Duration, error) { return "", time.Hour, nil })
	var none *apiclient.NoTokenError
	if _, err := token.Get(t.Context()); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
}
