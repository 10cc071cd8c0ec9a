package httpapi

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

// Attempt calls look, which looks up a code or a cookie of the request that is not an API key. NotFound counts as a
// failure of the client's network, as for invalid keys.
func (g *Gateway) Attempt(r *http.Request, look func(context.Context) error) error {
	return g.attempts.Look(r.Context(), network(g.address(r)), look)
}

// attempt is Attempt for operations, whose context has the address of the client.
func (g *Gateway) attempt(ctx context.Context, look func(context.Context) error) error {
	from, _ := netip.ParseAddr(audit.From(ctx).Address) // serve has set it
	return g.attempts.Look(ctx, network(from), look)
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
