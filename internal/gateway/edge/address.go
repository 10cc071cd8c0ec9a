package edge

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"cairn/internal/domain/audit"
)

// ipv6Network is the number of bits of an address that its holder usually cannot choose.
const ipv6Network = 64

// network returns the network of a client: its address, or the first 64 bits of an IPv6 address.
func network(from netip.Addr) string {
	if from.Is6() {
		network, _ := from.WithZone("").Prefix(ipv6Network) // 64 bits are valid for IPv6
		from = network.Addr()
	}
	return from.String()
}

// Attempt calls look, which looks up a secret of the request, such as a key, a code or a cookie. NotFound counts as a
// failure of the client's network, whose address the context has.
func (e *Edge) Attempt(ctx context.Context, look func(context.Context) error) error {
	from, _ := netip.ParseAddr(audit.From(ctx).Address) // the gateway has set it
	return e.attempts.Look(ctx, network(from), look)
}

// Address returns the address of the client. X-Forwarded-For counts only from a trusted proxy: the
// client is its last address that is none.
func (e *Edge) Address(r *http.Request) netip.Addr {
	from := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && e.trusts(from); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		from = hop.Unmap()
	}
	return from
}

// Encrypted reports whether a request arrived by HTTPS, here or at a trusted proxy.
func (e *Edge) Encrypted(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	return e.trusts(peer(r)) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// peer returns the address of the other end of the connection.
func peer(r *http.Request) netip.Addr {
	port, _ := netip.ParseAddrPort(r.RemoteAddr)
	return port.Addr().Unmap()
}

func (e *Edge) trusts(a netip.Addr) bool {
	for _, p := range e.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
