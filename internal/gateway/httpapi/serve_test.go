package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/gateway/prometheus"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// serve runs the gateway as `cairn serve` does, and lets the bundle's requests
// go there. It ends with ctx.
func (b *bundle) serve(ctx context.Context) <-chan error {
	b.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(b.T, err)
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
	// the gateway reads the body
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, b.url+"/v1/distill", body)
	testkit.Must(t, err)
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
	raw, err := json.Marshal(sampleConversation())
	testkit.Must(t, err)
	_, err = sending.Write(raw)
	testkit.Must(t, err)
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

// checkOf returns a check by its name.
func checkOf(r httpapi.Readiness, name string) httpapi.Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return httpapi.Check{}
}

// The gateway starts and serves while Temporal is away. What it accepts is answered later.
func TestAGatewayServesWithoutTemporal(t *testing.T) {
	t.Parallel()
	var temporal *testkit.Proxy
	b := idle(t, func(c *config.Config) {
		temporal = testkit.NewProxy(t, "tcp", c.TemporalAddress)
		temporal.Cut()
		c.TemporalAddress = temporal.Address()
	})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada."})
	var ready httpapi.Readiness
	b.do(request{path: "/readyz", key: "none"}).into(http.StatusOK, &ready)
	if c := checkOf(
		ready,
		"temporal",
	); !ready.Ready || !slices.Equal(ready.Degraded, []string{"temporal"}) || c.Ready ||
		c.Problem.Code != fault.Unavailable || ready.Schema == nil ||
		ready.Schema.Version != ready.Schema.Program {
		t.Errorf("without Temporal: %+v", ready)
	}
	b.get("/v1/memories").into(http.StatusOK, nil)
	said := message("thread/1", 1, "Hello, I am Ada.")
	said["wait"] = 0
	var accepted httpapi.TurnAnswer
	b.post("/v1/turns", said).into(http.StatusAccepted, &accepted)

	temporal.Restore()
	testkit.Eventually(t, "Temporal is back", func() bool {
		ready = httpapi.Readiness{}
		b.get("/readyz").into(http.StatusOK, &ready)
		return len(ready.Degraded) == 0
	})
	b.Start()
	var answer httpapi.TurnAnswer
	testkit.Eventually(t, "the turn is answered", func() bool {
		b.get(accepted.Links.Self).into(http.StatusOK, &answer)
		return answer.Reply != ""
	})
	if answer.Reply != "Hello, Ada." {
		t.Errorf("after Temporal is back: %+v", answer)
	}
}

// A gateway that stops first reports so, and serves on for CAIRN_DRAIN_DELAY.
func TestAStoppingGatewayDrainsBeforeItStops(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.DrainDelay = 3 * time.Second })
	ctx, stop := context.WithCancel(t.Context())
	served := b.serve(ctx)
	b.get("/readyz").into(http.StatusOK, nil)
	stop()
	var ready httpapi.Readiness
	testkit.Eventually(t, "the gateway is not ready", func() bool {
		return b.get("/readyz").status == http.StatusServiceUnavailable
	})
	b.get("/readyz").into(http.StatusServiceUnavailable, &ready)
	if c := checkOf(ready, "gateway"); c.Ready || c.Problem == nil || c.Problem.Code != fault.Unavailable {
		t.Errorf("stopping: %+v", ready)
	}
	b.get("/v1/memories").into(http.StatusOK, nil)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://")); err == nil {
		t.Error("the gateway still listens")
	}
}

func TestAGatewayIsNotReadyOnASchemaThatItWasNotBuiltFor(t *testing.T) {
	t.Parallel()
	b := idle(t)
	ask := func(status int) (r httpapi.Readiness) {
		t.Helper()
		b.do(request{path: "/readyz", key: "none"}).into(status, &r)
		if r.Ready != (status == http.StatusOK) || checkOf(r, "schema").Ready != r.Ready {
			t.Errorf("status %d: %+v", status, r)
		}
		return r
	}
	built := ask(http.StatusOK).Schema.Program
	b.admin("insert into cairn.goose_db_version (version_id, is_applied) values ($1, true)", built+2)
	if r := ask(http.StatusOK); r.Schema.Version != built+2 { // a newer program has expanded it
		t.Errorf("ahead: %+v", r.Schema)
	}
	says := func(r httpapi.Readiness, wants ...string) {
		t.Helper()
		p := checkOf(r, "schema").Problem
		for _, want := range wants {
			if p == nil || p.Code != fault.Misconfigured || !strings.Contains(p.Message+" "+p.Hint, want) {
				t.Errorf("says %+v, not %q", p, want)
			}
		}
	}
	b.admin(fmt.Sprintf("create or replace function cairn.schema_version() returns bigint language sql as 'select "+
		"%d::bigint'", built-1))
	says(ask(http.StatusServiceUnavailable), fmt.Sprintf("version %d", built-1), fmt.Sprintf("needs %d", built),
		"cairn migrate")
	b.admin("drop function cairn.schema_version()")
	if r := ask(http.StatusServiceUnavailable); r.Schema != nil {
		t.Errorf("unexpected schema version: %+v", r.Schema)
	} else {
		says(r, "older than this program", "cairn migrate")
	}
}

// If the database does not respond, a scrape takes scrapePatience and succeeds.
func TestAScrapeIsBoundedByItsPatience(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.Metrics = "open" })
	g := b.App.Gateway(prometheus.New(b.Store))
	scrape := func() string {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	b.post("/v1/distill", sampleConversation()).into(http.StatusAccepted, nil)
	if shown := scrape(); !strings.Contains(shown, "cairn_database_up 1") ||
		!strings.Contains(shown, `cairn_runs_open{kind="distill"} 1`) ||
		!strings.Contains(shown, `cairn_outbox_rows{kind="drive"} 1`) {
		t.Errorf("shown: %s", shown)
	}
	conn := b.connect()
	tx, err := conn.Begin(t.Context())
	testkit.Must(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "lock table cairn.outbox in access exclusive mode")
	testkit.Must(t, err)
	began := time.Now()
	if shown := scrape(); !strings.Contains(shown, "cairn_database_up 0") ||
		!strings.Contains(shown, "go_goroutines") || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %s", time.Since(began), shown)
	}
}
