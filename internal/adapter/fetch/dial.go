package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"syscall"

	"cairn/internal/domain/fault"
)

// transport returns the transport for one Get. Its connections are not reused, because each was
// checked under that call's options.
func (o Options) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // ignores the proxy of the environment
		DialContext:            o.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true, // the limit applies to the bytes sent
		MaxResponseHeaderBytes: maxHeader,
	}
}

// dial resolves the name itself, so that the connection uses an address that was checked. If any
// address of the name is not public, it is refused: an attacker may mix addresses so that a later
// attempt reaches the internal one.
func (o Options) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	addresses, err := o.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if err := o.judge(host, netip.AddrPortFrom(a, uint16(port))); err != nil {
			return nil, err
		}
	}
	dialer := &net.Dialer{ControlContext: func(_ context.Context, _, reached string, _ syscall.RawConn) error {
		return o.control(host, reached)
	}}
	var failures []error
	for _, a := range addresses {
		connection, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(a, uint16(port)).String())
		if err == nil {
			return connection, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// control checks the address to which a socket is about to connect.
func (o Options) control(host, reached string) error {
	address, err := netip.ParseAddrPort(reached)
	if err != nil {
		return refuse(host)
	}
	return o.judge(host, address)
}

func (o Options) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if literal, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{literal}, nil
	}
	var resolver Resolver = net.DefaultResolver
	if o.Resolver != nil {
		resolver = o.Resolver
	}
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound || err == nil && len(addresses) == 0 {
		return nil, fault.New(fault.InvalidArgument, "host not found: "+host, "check the URL")
	}
	return addresses, err
}

func (o Options) judge(host string, address netip.AddrPort) error {
	if slices.Contains(o.Trusted, address) || public(address.Addr()) {
		return nil
	}
	return refuse(host)
}

// refuse does not name the address: internal addresses are not disclosed.
func refuse(host string) error {
	return fault.New(fault.InvalidArgument, host+" is not a public address", uploadHint)
}
