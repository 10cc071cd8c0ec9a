package production

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// checkEvery is the interval at which a balancer asks each gateway whether it is ready.
const checkEvery = 200 * time.Millisecond

// balancer is a reverse proxy that sends each request to the next ready gateway, as a load balancer
// does. It does not repeat a request.
type balancer struct {
	url    string
	server *http.Server
	closed chan struct{} // ends the checks
	checks sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	next     int
	refused  int      // connections that a gateway refused
	failed   []string // requests that a gateway did not answer
}

// backend is a gateway.
type backend struct {
	url   *url.URL
	ready bool
}

func openBalancer(ctx context.Context, urls ...string) (*balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the proxy: %w", err)
	}
	b := &balancer{closed: make(chan struct{})}
	b.url = "http://" + l.Addr().String()
	proxy := &httputil.ReverseProxy{Rewrite: b.rewrite, ErrorHandler: b.failure, FlushInterval: -1,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}
	b.server = &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	for _, u := range urls {
		if err := b.add(ctx, u); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	go func() { _ = b.server.Serve(l) }() // ends with close
	return b, nil
}

// add begins to check a gateway, until close.
func (b *balancer) add(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("address of a gateway: %w", err)
	}
	at := &backend{url: u}
	_, at.ready = readiness(ctx, address)
	b.mu.Lock()
	b.backends = append(b.backends, at)
	b.mu.Unlock()
	b.checks.Go(func() {
		for {
			select {
			case <-b.closed:
				return
			case <-time.After(checkEvery):
			}
			_, ready := readiness(ctx, address)
			b.mu.Lock()
			at.ready = ready
			b.mu.Unlock()
		}
	})
	return nil
}

// rewrite chooses the gateway of a request.
func (b *balancer) rewrite(r *httputil.ProxyRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var at *backend
	for range b.backends { // if none is ready, the last one that was tried
		at = b.backends[b.next%len(b.backends)]
		if b.next++; at.ready {
			break
		}
	}
	r.SetURL(at.url)
	r.SetXForwarded()
}

// failure counts a request that a gateway did not answer.
func (b *balancer) failure(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, context.Canceled) {
		b.mu.Lock()
		if errors.Is(err, syscall.ECONNREFUSED) {
			b.refused++
		}
		b.failed = append(b.failed, fmt.Sprintf("%s %s: %v", r.Method, r.URL, err))
		b.mu.Unlock()
	}
	w.WriteHeader(http.StatusBadGateway)
}

func (b *balancer) close() {
	close(b.closed)
	_ = b.server.Close() // closes the listener
	b.checks.Wait()
}
