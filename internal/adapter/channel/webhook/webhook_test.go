package webhook_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/channel/webhook"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/webhooktest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

func TestWebhook(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Suite{
		Start: func() channeltest.Platform { return webhooktest.Start() },
		Open: func(p channeltest.Platform) (service.Adapter, error) {
			return webhook.New(
				webhook.Options{Account: "ada", Secret: webhooktest.Secret, URL: p.(*webhooktest.Program).URL},
			)
		},
		Wrong: func(channeltest.Platform) (service.Adapter, error) {
			return webhook.New(webhook.Options{Account: "ada", Secret: "whsec_!"})
		},
		Secret:  webhooktest.Secret,
		Threads: true,
		Buttons: true,
		Retries: true,
	})
}

// send sends a message to a program that answers with a handler.
func send(t *testing.T, h http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	a, err := webhook.New(
		webhook.Options{Account: "ada", Secret: webhooktest.Secret, URL: server.URL + "/hook?key=s3cret"},
	)
	testkit.Must(t, err)
	_, err = a.Send(t.Context(), channel.Place{Account: "ada", Chat: "room"}, channel.Part{Key: "k1", Text: "Hello"})
	return err
}

// A client that follows a redirect turns the request into one without a body. Any page would count as an answer.
func TestARedirectIsAFailure(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		err := send(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				http.Redirect(w, r, "/elsewhere", status)
			}
		})
		if err == nil {
			t.Errorf("%d counts as delivered", status)
		}
	}
}

// The URL can have a credential of the program.
func TestErrorsDoNotShowTheURL(t *testing.T) {
	t.Parallel()
	err := send(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

func TestRetryAfterCanBeADate(t *testing.T) {
	t.Parallel()
	err := send(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	var busy *service.SendError
	if !errors.As(err, &busy) || busy.RetryAfter < 30*time.Second {
		t.Errorf("%+v", err)
	}
}

// With a short secret, others could sign.
func TestSecretsHaveEnoughBytes(t *testing.T) {
	t.Parallel()
	for n, valid := range map[int]bool{0: false, 23: false, 24: true, 64: true, 65: false} {
		secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n))
		if _, err := webhook.New(webhook.Options{Account: "ada", Secret: secret}); (err == nil) != valid {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
