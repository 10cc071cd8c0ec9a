package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

const (
	answerTime = 3 * time.Second       // that an app has
	repeatTime = 50 * time.Millisecond // between attempts; Slack waits up to 5 minutes
)

// HTTP is a running fake whose app uses the Events API over HTTP.
type HTTP struct{ *Server }

var (
	_ channeltest.Platform = HTTP{}
	_ channeltest.Mounter  = HTTP{}
)

// StartHTTP starts a fake that delivers events after Mount.
func StartHTTP(o Options) HTTP {
	h := HTTP{Start(o)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hook.on = true
	return h
}

// hook is how events are delivered by HTTP.
type hook struct {
	on     bool
	url    string
	news   chan struct{}
	cancel context.CancelFunc // of the request that is running
}

// Mount delivers the events to a URL. The URL must answer a challenge, as Verify reports.
func (h HTTP) Mount(address string) {
	if h.Verify(address) != nil {
		return // no event is delivered
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.hook.url == ""
	h.hook.url = address
	if first {
		go h.post()
	}
}

// Verify sends a challenge to a URL and returns an error if the answer is wrong.
func (h HTTP) Verify(address string) error {
	body := encoded(object{"type": "url_verification", "token": "deprecated", "challenge": "a-challenge"})
	res, err := request(context.Background(), address, "application/json", body, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || !bytes.Contains(got, []byte("a-challenge"))) {
		err = fmt.Errorf("the answer to the challenge is %d %q", res.StatusCode, got)
	}
	return err
}

// Sign returns the headers of a request of Slack.
func Sign(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", stamp)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

// request sends a signed request to an app.
func request(ctx context.Context, address, media string, body []byte, more http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = Sign(SigningSecret, time.Now(), body)
	r.Header.Set("Content-Type", media)
	r.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	for name, values := range more {
		r.Header[name] = values
	}
	return http.DefaultClient.Do(r)
}

// post delivers one event after another until the server ends.
func (h HTTP) post() {
	for {
		d, address, ctx, cancel := h.first()
		if d == nil {
			select {
			case <-h.done:
				return
			case <-h.hook.news:
				continue
			}
		}
		ok := attempt(ctx, address, d)
		cancel()
		if h.ended(d, ok) {
			continue
		}
		select {
		case <-h.done:
			return
		case <-time.After(repeatTime):
		}
	}
}

// first returns the first event that is not acknowledged, or nil.
func (h HTTP) first() (d *delivery, address string, ctx context.Context, cancel context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pending) == 0 {
		return nil, "", nil, nil
	}
	ctx, cancel = context.WithTimeout(context.Background(), answerTime)
	h.hook.cancel = cancel
	return h.pending[0], h.hook.url, ctx, cancel
}

// attempt sends an event. It reports whether the app has acknowledged it.
func attempt(ctx context.Context, address string, d *delivery) bool {
	media, body, more := "application/json", d.payload, http.Header{}
	if d.kind == "interactive" {
		media, body = "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(d.payload)}}.Encode())
	}
	if d.attempts > 0 {
		more.Set("X-Slack-Retry-Num", strconv.Itoa(d.attempts))
		more.Set("X-Slack-Retry-Reason", "http_error")
	}
	res, err := request(ctx, address, media, body, more)
	if err != nil {
		return false
	}
	_ = res.Body.Close() // the answer is empty
	return res.StatusCode/100 == 2
}

// ended removes an event that is acknowledged or not repeated any more.
func (h HTTP) ended(d *delivery, ok bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.attempts++
	if ok || d.kind == "interactive" || d.attempts > maxAttempts {
		h.pending = h.pending[1:]
		return true
	}
	return false
}
