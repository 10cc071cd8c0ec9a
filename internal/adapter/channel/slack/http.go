package slack

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	slackapi "github.com/slack-go/slack"

	"cairn/internal/domain/metrics"
	service "cairn/internal/service/channel"
)

const (
	maxBody   = 1 << 20     // bytes of a request
	storeTime = time.Minute // of storing an event
)

// Handler serves the requests of the Events API and of interactive components. It answers 200 after accept has stored
// the events; Slack repeats an event after any other answer, but not a press of a button. Slack waits 3 seconds for the
// answer. An event that takes longer is stored nevertheless, and Slack's repetition has the same key.
func (a *Adapter) Handler(accept service.Accept) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.SigningSecret == "" {
			http.Error(w, "the account uses Socket Mode", http.StatusNotFound)
			return
		}
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body has more than 1 MiB, or stopped arriving", http.StatusRequestEntityTooLarge)
			return
		}
		if err := a.verify(r.Header, raw); err != nil {
			metrics.EventRejected("slack", metrics.Unsigned)
			http.Error(w, "invalid signature: "+err.Error(), http.StatusUnauthorized)
			return
		}
		kind, payload := payloadOf(r.Header, raw)
		var c callback
		if err := json.Unmarshal(payload, &c); err != nil {
			metrics.EventRejected("slack", metrics.Undecodable)
			http.Error(w, "invalid body", http.StatusBadRequest)
			return
		}
		if c.Type == "url_verification" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, c.Challenge) // a write error means that the client has left
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
		defer cancel()
		me, err := a.whoami(ctx)
		if err == nil {
			if events := a.eventsOf(ctx, me, kind, payload); len(events) > 0 {
				err = accept(ctx, events, "")
			}
		}
		if err != nil {
			http.Error(w, "not stored, send it again", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
}

// verify checks the signature of a request and its age, which is at most five minutes.
func (a *Adapter) verify(header http.Header, body []byte) error {
	v, err := slackapi.NewSecretsVerifier(header, a.SigningSecret)
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
}

// payloadOf returns what a body has, and the type of envelope that has the same in Socket Mode. Interactive components
// send a form.
func payloadOf(header http.Header, body []byte) (kind string, payload []byte) {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // empty if it is invalid
	if media != "application/x-www-form-urlencoded" {
		return kindEvent, body
	}
	form, _ := url.ParseQuery(string(body)) // an invalid form has no payload
	return kindInteractive, []byte(form.Get("payload"))
}
