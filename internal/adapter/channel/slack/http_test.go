package slack_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/channel/slack"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
	"cairn/internal/lab/fakes/slacktest"
)

// body is an event of user 7.
const body = `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","channel":"D7","channel_type":"im",` +
	`"user":"7","text":"Hello","ts":"1700000000.000001","event_ts":"1700000000.000001"}}`

func TestTheHandlerChecksRequests(t *testing.T) {
	t.Parallel()
	accepted, refuse := 0, false
	d := open(t, slacktest.Options{}, func(o *slack.Options) {
		o.AppToken, o.SigningSecret = "", slacktest.SigningSecret
	})
	h := d.Handler(func(_ context.Context, events []channel.Event, _ string) error {
		if refuse {
			return errors.New("not stored")
		}
		accepted += len(events)
		return nil
	})
	unsigned := metrics.Rejected{Platform: "slack", Reason: metrics.Unsigned}
	counted := metrics.Read().Rejected[unsigned]
	large := strings.Repeat("x", 10_000_000)
	challenge := `{"type":"url_verification","challenge":"abc"}`
	sign := func(at time.Duration, text string) http.Header {
		return slacktest.Sign(slacktest.SigningSecret, time.Now().Add(at), []byte(text))
	}
	for name, c := range map[string]struct {
		header http.Header
		body   string
		refuse bool
		want   int
	}{
		"valid":               {sign(0, body), body, false, http.StatusOK},
		"4 minutes old":       {sign(-4*time.Minute, body), body, false, http.StatusOK},
		"not stored":          {sign(0, body), body, true, http.StatusServiceUnavailable},
		"unsigned":            {http.Header{}, body, false, http.StatusUnauthorized},
		"unsigned challenge":  {http.Header{}, challenge, false, http.StatusUnauthorized},
		"6 minutes old":       {sign(-6*time.Minute, body), body, false, http.StatusUnauthorized},
		"from the future":     {sign(6*time.Minute, body), body, false, http.StatusUnauthorized},
		"another body":        {sign(0, body), body + " ", false, http.StatusUnauthorized},
		"another secret":      {slacktest.Sign("x", time.Now(), []byte(body)), body, false, http.StatusUnauthorized},
		"no JSON":             {sign(0, "x"), "x", false, http.StatusBadRequest},
		"10 MB":               {http.Header{}, large, false, http.StatusRequestEntityTooLarge},
		"nothing to read":     {sign(0, "{}"), "{}", false, http.StatusOK},
		"signed, unusual way": {strangeSignature(), body, false, http.StatusUnauthorized},
	} {
		before := accepted
		refuse = c.refuse
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/channels/ada/events",
			strings.NewReader(c.body))
		r.Header = c.header
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		stored := c.want == http.StatusOK && c.body == body
		if w.Code != c.want || (accepted > before) != stored {
			t.Errorf("%s: %d %s, accepted %v", name, w.Code, w.Body, accepted > before)
		}
	}
	if n := metrics.Read().Rejected[unsigned] - counted; n != 7 {
		t.Errorf("%d of 7 requests without a valid signature are counted", n)
	}
}

// strangeSignature is a signature of a version that does not exist.
func strangeSignature() http.Header {
	h := slacktest.Sign(slacktest.SigningSecret, time.Now(), []byte(body))
	h.Set("X-Slack-Signature", strings.Replace(h.Get("X-Slack-Signature"), "v0", "v1", 1))
	return h
}

// Slack hangs up after 3 seconds. What is being stored then is stored nevertheless: the repetitions take as long.
func TestAnEventIsStoredAfterSlackHasHungUp(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, func(o *slack.Options) {
		o.AppToken, o.SigningSecret = "", slacktest.SigningSecret
	})
	ctx, hangUp := context.WithCancel(t.Context())
	h := d.Handler(func(ctx context.Context, events []channel.Event, cursor string) error {
		hangUp()
		if err := ctx.Err(); err != nil {
			return err
		}
		return d.accept(ctx, events, cursor)
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/channels/ada/events", strings.NewReader(body))
	r.Header = slacktest.Sign(slacktest.SigningSecret, time.Now(), []byte(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || len(d.all("Hello")) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAnAccountWithSocketModeHasNoHandler(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/channels/ada/events", strings.NewReader(body))
	r.Header = slacktest.Sign("", time.Now(), []byte(body))
	w := httptest.NewRecorder()
	d.Handler(d.accept).ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
