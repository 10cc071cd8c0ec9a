package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"cairn/internal/config"
	"cairn/internal/fault"
	"cairn/internal/gateway"
	"cairn/internal/host/hosttest"
)

// serve runs the gateway as `cairn serve` does, and lets the bundle's requests
// go there. It ends with ctx.
func (b *bundle) serve(ctx context.Context) <-chan error {
	b.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	hosttest.Must(b.T, err)
	b.url = "http://" + l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- b.gateway.Serve(ctx, l) }()
	return served
}

func TestARequestUnderWayIsFinishedWhenTheGatewayStops(t *testing.T) {
	t.Parallel()
	b := idle(t)
	ctx, stop := context.WithCancel(t.Context())
	served := b.serve(ctx)
	body, sending := io.Pipe()
	begun := make(chan struct{})
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }}) // the gateway reads the body
	req, err := http.NewRequestWithContext(traced, http.MethodPost, b.url+"/v1/distill", body)
	hosttest.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	req.Header.Set("Expect", "100-continue")
	answered := make(chan *http.Response, 1)
	go func() {
		res, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}).Do(req)
		if err != nil {
			t.Error(err)
		}
		answered <- res
	}()
	<-begun
	stop()
	for { // the listener is closed first
		c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	raw, err := json.Marshal(conversation())
	hosttest.Must(t, err)
	_, err = sending.Write(raw)
	hosttest.Must(t, err)
	sending.Close()
	res := <-answered
	if res == nil {
		t.FailNow()
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", res.StatusCode)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestAGatewayIsReadyWhenItsServersAnswer(t *testing.T) {
	t.Parallel()
	var temporal *hosttest.Proxy
	b := idle(t, func(c *config.Config) {
		temporal = hosttest.NewProxy(t, "tcp", c.TemporalAddress)
		c.TemporalAddress = temporal.Address()
	})
	b.do(request{path: "/healthz", key: "none"}).into(http.StatusOK, nil)
	var ready gateway.Readiness
	b.do(request{path: "/readyz", key: "none"}).into(http.StatusOK, &ready)
	if !ready.Ready || len(ready.Checks) != 2 {
		t.Errorf("%+v", ready)
	}

	temporal.Cut()
	b.get("/healthz").into(http.StatusOK, nil)
	b.get("/readyz").into(http.StatusServiceUnavailable, &ready)
	if ready.Ready || !ready.Checks[0].Ready || ready.Checks[1].Ready || ready.Checks[1].Problem.Code != fault.Unavailable {
		t.Errorf("without Temporal: %+v", ready)
	}
	// What is accepted meanwhile is kept: the relay starts it later.
	var a gateway.Accepted
	b.post("/v1/distill", conversation()).into(http.StatusAccepted, &a)
	if !a.New {
		t.Errorf("%+v", a)
	}
}
