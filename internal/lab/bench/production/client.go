package production

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tenant is a workspace with an admin key.
type tenant struct{ name, key string }

// markIn matches the mark of a message; workspaceIn matches its first part, the name of its workspace. Both
// begin a word, because the random characters of a run's ID can look the same.
var (
	markIn      = regexp.MustCompile(`\bp\dw\d\dt\d{4}`)
	workspaceIn = regexp.MustCompile(`\bp\dw\d\d`)
)

// mark returns the mark of the n-th message of a workspace.
func (t tenant) mark(n int) string { return fmt.Sprintf("%st%04d", t.name, n) }

// client sends requests to gateways in turn and counts the responses.
type client struct {
	urls []string
	next atomic.Int64

	mu        sync.Mutex
	responses int
	statuses  map[int]int
	broken    []string // requests without a response
	wrong     []string // responses that a gateway may not send
	foreign   []string // responses with text of another workspace
}

func newClient(urls ...string) *client { return &client{urls: urls, statuses: map[int]int{}} }

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// requestPatience exceeds the longest wait that a request here asks for.
const requestPatience = 70 * time.Second

// transport keeps a connection open for each parallel request.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

// do sends a request of a tenant to the next gateway. Body is encoded as JSON unless it is a string.
func (c *client) do(ctx context.Context, t tenant, method, path string, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	base := c.urls[int(c.next.Add(1))%len(c.urls)]
	var in io.Reader
	if text, plain := body.(string); plain {
		in = strings.NewReader(text)
	} else if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return answer{}, fmt.Errorf("encode the request: %w", err)
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, in)
	if err != nil {
		return answer{}, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+t.key)
	r.Header.Set("Content-Type", "application/json")
	switch {
	case method == http.MethodPatch:
		r.Header.Set("Content-Type", "application/merge-patch+json")
	case strings.HasSuffix(path, "/load"):
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return answer{}, c.lost(ctx, method, path, err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return answer{}, c.lost(ctx, method, path, err)
	}
	c.count(t, method+" "+path, a)
	return a, nil
}

// lost counts a request without a response, unless the caller gave it up.
func (c *client) lost(ctx context.Context, method, path string, err error) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.broken = append(c.broken, fmt.Sprintf("%s %s: %v", method, path, err))
	}
	return err
}

func (c *client) count(t tenant, request string, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.responses++
	c.statuses[a.status]++
	switch {
	case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "":
		c.wrong = append(c.wrong, request+": 503 without Retry-After")
	case a.status >= http.StatusInternalServerError && a.status != http.StatusServiceUnavailable:
		c.wrong = append(c.wrong, fmt.Sprintf("%s: %d %.300s", request, a.status, a.body))
	}
	for _, w := range workspaceIn.FindAllString(string(a.body), -1) {
		if !strings.HasPrefix(t.name, w) {
			c.foreign = append(c.foreign, fmt.Sprintf("%s of %s returns text of %s", request, t.name, w))
		}
	}
}

// shown returns the counts by status.
func (c *client) shown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, status := range slices.Sorted(maps.Keys(c.statuses)) {
		out = append(out, fmt.Sprintf("%d × %d", c.statuses[status], status))
	}
	return strings.Join(out, ", ")
}

// status returns the number of responses with a status.
func (c *client) status(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[n]
}

// expect sends a request whose response must have a status, and decodes it.
func (c *client) expect(ctx context.Context, t tenant, method, path string, body any, status int, into any) error {
	a, err := c.do(ctx, t, method, path, body)
	if err != nil {
		return err
	}
	if a.status != status {
		return fmt.Errorf("%s %s: status %d, want %d: %.300s", method, path, a.status, status, a.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.body, into)
}

// turn is the part of a turn's response that the experiment reads.
type turn struct {
	Run    string `json:"run"`
	Status string `json:"status"`
	Reason string `json:"reason"`
	Links  struct{ Events, Run string }
}

// message returns the body of POST /v1/turns. Its text contains the mark.
func message(conversation, mark string, wait int) map[string]any {
	return map[string]any{"conversation": conversation, "message_id": mark, "wait": wait,
		"text": "This is " + mark + ": how are you today?"}
}

// send sends a message once. Accepted reports whether the gateway has promised a reply, ended whether
// the reply is there.
func (c *client) send(ctx context.Context, t tenant, body map[string]any) (ended, accepted bool, err error) {
	a, err := c.do(ctx, t, http.MethodPost, "/v1/turns", body)
	if err != nil {
		return false, false, err
	}
	switch a.status {
	case http.StatusOK:
		return true, true, nil
	case http.StatusAccepted:
		return false, true, nil
	}
	return false, false, fmt.Errorf("message %v: status %d: %.300s", body["message_id"], a.status, a.body)
}

// ended reports whether a message has its reply.
func (c *client) ended(ctx context.Context, t tenant, conversation, mark string) (bool, error) {
	a, err := c.do(ctx, t, http.MethodGet, "/v1/conversations/"+url.PathEscape(conversation)+"/messages/"+mark, nil)
	if err != nil || a.status != http.StatusOK {
		return false, err
	}
	var out turn
	err = json.Unmarshal(a.body, &out)
	return out.Status == "ended", err
}

const retryPause = 200 * time.Millisecond

// insist sends a message until it has its reply, for at most patience.
func (c *client) insist(ctx context.Context, t tenant, body map[string]any, patience time.Duration) error {
	return until(ctx, patience, fmt.Sprintf("message %v is answered", body["message_id"]), func() (bool, error) {
		ended, _, err := c.send(ctx, t, body)
		return ended, err
	})
}

// until waits until holds returns true, for at most patience. Errors are tried again.
func until(ctx context.Context, patience time.Duration, what string, holds func() (bool, error)) error {
	over := time.Now().Add(patience)
	for {
		done, err := holds()
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case time.Now().After(over):
			return errors.Join(fmt.Errorf("not within %s: %s", patience, what), err)
		}
		pause(ctx, retryPause)
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
