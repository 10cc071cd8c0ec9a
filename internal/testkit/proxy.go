package testkit

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Proxy is a proxy between a worker and a server, so that a test can disconnect that worker alone.
type Proxy struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu     sync.Mutex
	down   bool
	turned int // connections refused while the proxy was cut
	conns  map[net.Conn]bool
	edit   func([]byte) []byte // nil passes bytes on
}

// NewProxy starts a proxy from a loopback port to network and address.
func NewProxy(t testing.TB, network, address string) *Proxy {
	t.Helper()
	p, err := OpenProxy(network, address)
	Must(t, err)
	t.Cleanup(p.Close)
	return p
}

// OpenProxy is like NewProxy, without a test.
func OpenProxy(network, address string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy: %w", err)
	}
	p := &Proxy{listener: l, conns: map[net.Conn]bool{}, dial: func() (net.Conn, error) {
		return net.Dial(network, address)
	}}
	go p.serve()
	return p, nil
}

// Close breaks every connection and stops listening.
func (p *Proxy) Close() {
	_ = p.listener.Close() // fails only if it is closed
	p.Cut()
}

// Address returns the address of the proxy.
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

// Refused returns the number of refused connections.
func (p *Proxy) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turned
}

// Restore accepts connections again.
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
	pipe := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // ends when either side does
		done <- struct{}{}
	}
	go pipe(out, p.edited(in))
	go pipe(in, out)
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, in)
	delete(p.conns, out)
}

// edited returns a reader of what a client sends, changed as Edit says.
func (p *Proxy) edited(from net.Conn) io.Reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.edit == nil {
		return from
	}
	return editor{from, p.edit}
}

// Edit replaces what clients send by as many bytes or fewer, in connections that are opened from now on.
func (p *Proxy) Edit(edit func(sent []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edit = edit
}

// editor edits the bytes of each read.
type editor struct {
	from io.Reader
	edit func([]byte) []byte
}

func (e editor) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	return copy(b, e.edit(b[:n])), err
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

// DatabaseProxy returns a proxy to the server of a database URL, and the URL that uses it.
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
