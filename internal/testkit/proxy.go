package testkit

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Proxy stands between a worker and a server, so that a test can take the
// server away from that worker alone.
type Proxy struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu     sync.Mutex
	down   bool
	turned int // away, while it was down
	conns  map[net.Conn]bool
}

// NewProxy forwards a loopback port to network and address.
func NewProxy(t testing.TB, network, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	p := &Proxy{listener: l, conns: map[net.Conn]bool{}, dial: func() (net.Conn, error) {
		return net.Dial(network, address)
	}}
	go p.serve()
	t.Cleanup(func() {
		l.Close()
		p.Cut()
	})
	return p
}

// Address is where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut breaks every connection and refuses new ones until Restore.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		c.Close()
	}
}

// Refused counts the connections that were turned away.
func (p *Proxy) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turned
}

// Restore lets connections through again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *Proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(in)
	}
}

func (p *Proxy) forward(in net.Conn) {
	defer in.Close()
	out, err := p.dial()
	if err != nil {
		return
	}
	defer out.Close()
	if !p.keep(in, out) {
		return
	}
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // ends when either side does, which is all there is to know
		done <- struct{}{}
	}
	go pipe(out, in)
	go pipe(in, out)
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, in)
	delete(p.conns, out)
}

func (p *Proxy) keep(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		p.turned++
		return false
	}
	p.conns[in], p.conns[out] = true, true
	return true
}

// DatabaseProxy is a proxy before the server of a database URL, with the URL
// that goes through it.
func DatabaseProxy(t testing.TB, databaseURL string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	Must(t, err)
	network, address := "tcp", u.Host
	if socket := u.Query().Get("host"); strings.HasPrefix(socket, "/") {
		network, address = "unix", socket+"/.s.PGSQL.5432"
	}
	p := NewProxy(t, network, address)
	q := u.Query()
	q.Del("host")
	u.Host, u.RawQuery = p.Address(), q.Encode()
	return p, u.String()
}
