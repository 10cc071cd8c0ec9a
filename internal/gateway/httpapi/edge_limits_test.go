package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

func TestEdgeStreamsOfAKeyAreLimited(t *testing.T) {
	t.Parallel()
	b := idle(t) // without workers the run stays open
	in := message("c", 1, "Hello, I am Ada.")
	in["wait"] = 0
	var a httpapi.TurnAnswer
	b.post("/v1/turns", in).into(http.StatusAccepted, &a)
	open := func() io.Closer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+a.Links.Events, nil)
		testkit.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+b.key)
		res, err := http.DefaultClient.Do(r)
		testkit.Must(t, err)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d", res.StatusCode)
		}
		return res.Body
	}
	var streams []io.Closer
	for range 20 {
		streams = append(streams, open())
	}
	if p := b.get(a.Links.Events); p.refused(fault.RateLimited).Code == "" || p.header.Get("Retry-After") == "" {
		t.Errorf("header %v", p.header)
	}
	other := b.makeKey(b.Workspace, access.Read)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+a.Links.Events, nil)
	testkit.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+other)
	res, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("another key has status %d", res.StatusCode)
	}
	streams[0].Close()
	testkit.Eventually(t, "a closed stream makes room", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+a.Links.Events, nil)
		testkit.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+b.key)
		res, err := http.DefaultClient.Do(r)
		testkit.Must(t, err)
		streams = append(streams, res.Body)
		return res.StatusCode == http.StatusOK
	})
	for _, s := range streams {
		s.Close()
	}
}

func TestEdgeBadKeysAreThrottled(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.TrustedProxies = "127.0.0.0/8" })
	from := func(address, key string) response {
		t.Helper()
		return b.do(request{path: "/v1/skills", key: key, header: map[string]string{"X-Forwarded-For": address}})
	}
	from("203.0.113.7", b.key).into(http.StatusOK, nil)
	for i := range 20 {
		from("203.0.113.7", badKey(i)).refused(fault.Unauthenticated)
	}
	if r := from("203.0.113.7", badKey(21)); r.refused(fault.RateLimited).Code == "" ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("header %v", r.header)
	}
	from("203.0.113.7", b.key).into(http.StatusOK, nil)
	from("203.0.113.7", b.makeKey(b.Workspace, access.Read)).into(http.StatusOK, nil) // of another person there
	from("203.0.113.8", badKey(1)).refused(fault.Unauthenticated)
	// A client cannot choose another address: the proxy appends the true one.
	from("198.51.100.1, 203.0.113.7", badKey(1)).refused(fault.RateLimited)
	for i := range 20 {
		from(fmt.Sprintf("2001:db8:0:1::%x", i+1), badKey(i)).refused(fault.Unauthenticated)
	}
	from("2001:db8:0:1:ffff::1", badKey(1)).refused(fault.RateLimited)
	from("2001:db8:0:2::1", badKey(1)).refused(fault.Unauthenticated)
}

// badKey has the form of a key.
func badKey(n int) string { return fmt.Sprintf("cairn_%043d", n) }

// A hundred users of a new gateway send their first request at once, from one address.
func TestEdgeAColdGatewayTakesAllValidKeys(t *testing.T) {
	t.Parallel()
	b := everything(t)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = b.makeKey(b.Workspace, access.Admin)
	}
	cold := httptest.NewServer(b.App.Gateway(httpapi.NoMeter))
	t.Cleanup(cold.Close)
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() {
			for _, e := range doors(key)[i%5 : i%5+1] {
				if status := e.ask(b, cold.URL); status != http.StatusOK && status != http.StatusSeeOther {
					t.Errorf("valid key %d at %s: status %d", i, e.path, status)
				}
			}
		})
	}
	all.Wait()
}

// door is a request that a gateway admits by its key.
type door struct{ method, path, key, body string }

// doors returns a request for each gateway that takes the key of a workspace.
func doors(key string) []door {
	return []door{{http.MethodGet, "/v1/skills", key, ""}, {http.MethodGet, "/mem0/memories?user_id=ada", key, ""},
		{http.MethodGet, "/v1/models", key, ""},
		{http.MethodPost, "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`},
		{http.MethodPost, "/console/sign-in", key, url.Values{"key": {key}}.Encode()}}
}

func (d door) ask(b *bundle, base string) int {
	r, err := http.NewRequestWithContext(b.T.Context(), d.method, base+d.path, strings.NewReader(d.body))
	testkit.Must(b.T, err)
	r.Header = http.Header{"Authorization": {"Bearer " + d.key}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	if strings.HasPrefix(d.path, "/console") {
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.T.Error(err)
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// Many guesses from an address, at all gateways, do not keep another key of the address from its first use.
func TestEdgeGuessesDoNotLockOutTheirAddress(t *testing.T) {
	t.Parallel()
	b := everything(t)
	operator := b.operatorKey(access.Metrics, access.Codec)
	operatorDoors := func(key string) []door {
		return []door{{http.MethodGet, "/metrics", key, ""}, {http.MethodGet, "/codec/", key, ""},
			{http.MethodPost, "/codec/decode", key, `{"payloads":[]}`}}
	}
	var all sync.WaitGroup
	var slowed atomic.Int64
	for i := range 200 {
		all.Go(func() {
			guesses := append(doors(badKey(i)), operatorDoors(fmt.Sprintf("cairn_op_%043d", i))...)
			switch d := guesses[i%len(guesses)]; d.ask(b, b.url) {
			case http.StatusUnauthorized:
			case http.StatusTooManyRequests:
				slowed.Add(1)
			default:
				t.Errorf("guess at %s is admitted", d.path)
			}
		})
	}
	all.Wait()
	if n := slowed.Load(); n != 180 {
		t.Errorf("%d of 200 guesses are slowed, want 180", n)
	}
	for _, d := range append(doors(b.makeKey(b.Workspace, access.Admin)), operatorDoors(operator)...) {
		if status := d.ask(b, b.url); status != http.StatusOK && status != http.StatusSeeOther &&
			status != http.StatusNotFound { // this gateway records no metrics
			t.Errorf("a valid key at %s after 200 guesses: status %d", d.path, status)
		}
	}
}

// Codes and cookies are guessed as slowly as keys.
func TestEdgeCodesAndCookiesAreThrottled(t *testing.T) {
	t.Parallel()
	b := everything(t)
	gateway, _, err := b.gateway.Keys.CreateGateway(t.Context(), "webui", "webui", nil)
	testkit.Must(t, err)
	reader := b.makeKey(b.Workspace, access.Admin)
	b.do(request{path: "/v1/skills", key: reader}).into(http.StatusOK, nil)
	for name, guess := range map[string]func(i int) int{
		"pairing code": func(i int) int {
			return b.do(request{method: http.MethodPost, path: "/v1/people/approve", key: gateway,
				body: object{"code": fmt.Sprintf("GUESS%03d", i)}}).status
		},
		"key to copy from": func(i int) int {
			return b.do(request{method: http.MethodPost, path: "/v1/memories/copy", key: reader,
				body: object{"from_key": badKey(i)}}).status
		},
		"sign-in link": func(i int) int {
			return door{http.MethodPost, "/console/link", "", url.Values{"code": {fmt.Sprint(i)}}.Encode()}.
				ask(b, b.url)
		},
		"operator key": func(i int) int {
			return b.signIn(fmt.Sprintf("cairn_op_%043d", i), nil).StatusCode
		},
	} {
		b.gateway = b.App.Gateway(httpapi.NoMeter) // without failures
		server := httptest.NewServer(b.gateway)
		t.Cleanup(server.Close)
		b.url = server.URL
		for i := range 21 {
			status := guess(i)
			if slow := status == http.StatusTooManyRequests; slow != (i == 20) || status < 400 {
				t.Errorf("%s %d: status %d", name, i+1, status)
			}
		}
	}
}

// Without trusted proxies, X-Forwarded-For does not choose the address.
func TestEdgeAForwardedAddressNeedsATrustedProxy(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var last response
	for i := range 21 {
		last = b.do(request{path: "/v1/skills", key: fmt.Sprintf("cairn_%043d", i),
			header: map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", i)}})
	}
	last.refused(fault.RateLimited)
}
