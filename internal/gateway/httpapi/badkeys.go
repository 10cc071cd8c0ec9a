package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/fault"
)

// Limits of invalid keys.
const (
	badKeysPerMinute = 20
	badKeyWindow     = time.Minute
	addressesKept    = 100_000
	ipv6Network      = 64 // bits; a client can usually choose the others
)

// badKeys counts the invalid keys of each client address in this gateway.
type badKeys struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[netip.Addr]*attempts
}

type attempts struct {
	since time.Time
	count int
}

func newBadKeys() *badKeys { return &badKeys{now: time.Now, seen: map[netip.Addr]*attempts{}} }

// take counts an attempt before its key is looked up, so that parallel attempts count. It returns
// how long to wait if the address has no attempt left.
func (b *badKeys) take(from netip.Addr) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	a := b.seen[from]
	if a == nil || now.Sub(a.since) >= badKeyWindow {
		if len(b.seen) >= addressesKept {
			b.forget(now)
		}
		a = &attempts{since: now}
		b.seen[from] = a
	}
	if a.count >= badKeysPerMinute {
		return a.since.Add(badKeyWindow).Sub(now)
	}
	a.count++
	return 0
}

// good takes back an attempt whose key was valid.
func (b *badKeys) good(from netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.seen[from]; a != nil {
		if a.count--; a.count <= 0 {
			delete(b.seen, from)
		}
	}
}

// forget drops the addresses whose window is over, and all if there are none.
func (b *badKeys) forget(now time.Time) {
	for from, a := range b.seen {
		if now.Sub(a.since) >= badKeyWindow {
			delete(b.seen, from)
		}
	}
	if len(b.seen) >= addressesKept {
		clear(b.seen)
	}
}

func tooManyBadKeys(wait time.Duration) *Problem {
	return problem(fault.RateLimited,
		fmt.Sprintf("too many invalid API keys from this address: %d in a minute", badKeysPerMinute),
		"correct the key, then wait for the seconds in the Retry-After header").
		with("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// client returns the network of the client: its address, or the first 64 bits of an IPv6 address.
func (g *Gateway) client(r *http.Request) netip.Addr {
	from := g.address(r)
	if from.Is6() {
		network, _ := from.WithZone("").Prefix(ipv6Network) // 64 bits are valid for IPv6
		return network.Addr()
	}
	return from
}

// address returns the address of the client. X-Forwarded-For counts only from a trusted proxy: the
// client is its last address that is none.
func (g *Gateway) address(r *http.Request) netip.Addr {
	from := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && g.trusts(from); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		from = hop.Unmap()
	}
	return from
}

// peer returns the address of the other end of the connection.
func peer(r *http.Request) netip.Addr {
	port, _ := netip.ParseAddrPort(r.RemoteAddr)
	return port.Addr().Unmap()
}

func (g *Gateway) trusts(a netip.Addr) bool {
	for _, p := range g.Options.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
