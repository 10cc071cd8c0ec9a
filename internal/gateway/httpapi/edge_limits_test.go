package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/apikey"
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
	other := b.makeKey(b.Workspace, apikey.Read)
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
	bad := func(n int) string { return fmt.Sprintf("cairn_%043d", n) }
	from("203.0.113.7", b.key).into(http.StatusOK, nil)
	for i := range 20 {
		from("203.0.113.7", bad(i)).refused(fault.Unauthenticated)
	}
	if r := from("203.0.113.7", bad(21)); r.refused(fault.RateLimited).Code == "" || r.header.Get("Retry-After") == "" {
		t.Errorf("header %v", r.header)
	}
	from("203.0.113.7", b.key).into(http.StatusOK, nil) // known before
	from("203.0.113.7", b.makeKey(b.Workspace, apikey.Read)).refused(fault.RateLimited)
	from("203.0.113.8", bad(1)).refused(fault.Unauthenticated)
	// A client cannot choose another address: the proxy appends the true one.
	from("198.51.100.1, 203.0.113.7", bad(1)).refused(fault.RateLimited)
	for i := range 20 {
		from(fmt.Sprintf("2001:db8:0:1::%x", i+1), bad(i)).refused(fault.Unauthenticated)
	}
	from("2001:db8:0:1:ffff::1", bad(1)).refused(fault.RateLimited)
	from("2001:db8:0:2::1", bad(1)).refused(fault.Unauthenticated)
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
