package fetch

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
)

// names resolves from a list. Other names do not exist.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, text := range n[host] {
		found = append(found, netip.MustParseAddr(text))
	}
	if found == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, nil
}

// site is a server on loopback that counts connections: a refused URL must not cause any.
type site struct {
	*httptest.Server
	connections atomic.Int32
}

func serve(t *testing.T, secure bool, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(handler)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *site) address() netip.AddrPort {
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

// at returns the site's URL under another host name, with its own port.
func (s *site) at(t *testing.T, host string) string {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// trusting returns options that allow exactly these sites.
func trusting(sites ...*site) Options {
	o := Options{AllowHTTP: true, Roots: x509.NewCertPool()}
	for _, s := range sites {
		o.Trusted = append(o.Trusted, s.address())
		if s.Certificate() != nil {
			o.Roots.AddCert(s.Certificate())
		}
	}
	return o
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

func redirectTo(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
}
