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

// transport serves one Get: no connection outlives it, so none is used again
// whose address was judged under other options.
func (o Options) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // not the environment's
		DialContext:            o.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true, // what is counted is what was sent
		MaxResponseHeaderBytes: maxHeader,
	}
}

// dial resolves a name itself, so that what was judged is what is dialled. One
// address inside condemns the name: whoever mixes them wants to be dialled
// again until the wrong one comes up.
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

// control judges the address that a socket is about to connect to.
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
		return nil, fault.New(fault.InvalidArgument, "there is no host "+host, "check the URL")
	}
	return addresses, err
}

func (o Options) judge(host string, address netip.AddrPort) error {
	if slices.Contains(o.Trusted, address) || public(address.Addr()) {
		return nil
	}
	return refuse(host)
}

// refuse does not tell the address: what a name means inside is not for
// outsiders.
func refuse(host string) error {
	return fault.New(fault.InvalidArgument, host+" is not a public address", uploadHint)
}
