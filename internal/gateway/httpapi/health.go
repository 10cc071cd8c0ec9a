package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.temporal.io/sdk/client"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
)

// checkPatience bounds each question of a readiness check.
const checkPatience = 2 * time.Second

// Health is that the process answers.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Readiness is whether requests can be served, and if not, what is missing.
type Readiness struct {
	Ready  bool             `json:"ready"`
	Checks []Check          `json:"checks"`
	Schema *postgres.Schema `json:"schema,omitempty" doc:"Which version the database's schema has; absent when nobody could tell"`
}

// Check is one thing that the gateway needs.
type Check struct {
	Name    string   `json:"name" enum:"database,temporal,schema"`
	Ready   bool     `json:"ready"`
	Millis  int64    `json:"milliseconds" doc:"That the answer took"`
	Problem *Problem `json:"problem,omitempty"`
}

func (g *Gateway) healthRoutes() {
	handle(g, route{method: http.MethodGet, path: "/healthz", id: "health", tag: tagHealth, summary: "Tell that the process answers"},
		func(context.Context, *struct{}) (*bodyOf[Health], error) { return &bodyOf[Health]{Health{"ok"}}, nil })
	handle(g, route{method: http.MethodGet, path: "/readyz", id: "ready", tag: tagHealth, summary: "Tell whether the database, with this program's schema, and Temporal answer",
		responses: map[string]*huma.Response{"503": {Description: "Something is missing", Content: content("application/json", schemaOf[Readiness](g))}}}, g.ready)
	if g.Config.Metrics != "off" {
		g.mux.HandleFunc("GET /metrics", g.metrics)
	}
}

func (g *Gateway) ready(ctx context.Context, _ *struct{}) (*struct {
	Status int
	Body   Readiness
}, error) {
	out := &struct {
		Status int
		Body   Readiness
	}{http.StatusOK, Readiness{Ready: true}}
	checks := []struct {
		name string
		ask  func(context.Context) error
	}{{"database", g.askDatabase}, {"temporal", g.askTemporal}, {"schema", func(ctx context.Context) (err error) {
		out.Body.Schema, err = g.askSchema(ctx)
		return err
	}}}
	out.Body.Checks = make([]Check, len(checks))
	var asking sync.WaitGroup
	for i, c := range checks {
		asking.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(ctx, checkPatience)
			defer cancel()
			err := c.ask(ctx)
			out.Body.Checks[i] = Check{Name: c.name, Ready: err == nil, Millis: time.Since(began).Milliseconds()}
			if err != nil {
				out.Body.Checks[i].Problem = problemOf(err)
			}
		})
	}
	asking.Wait()
	for _, c := range out.Body.Checks {
		if !c.Ready {
			out.Status, out.Body.Ready = http.StatusServiceUnavailable, false
		}
	}
	return out, nil
}

// askDatabase looks for a key that nobody has. That asks what serving asks: the
// login, its role, and the schema's own function.
func (g *Gateway) askDatabase(ctx context.Context) error {
	var nobody postgres.KeyHash
	_, _ = rand.Read(nobody[:]) // never fails
	_, err := g.Store.Principal(ctx, nobody)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.NotFound {
		return nil
	}
	return err
}

// askSchema compares the database's schema with what this program was built for.
func (g *Gateway) askSchema(ctx context.Context) (*postgres.Schema, error) {
	v, err := g.Store.Schema(ctx)
	if err != nil {
		return nil, err
	}
	return &v, v.Check()
}

func (g *Gateway) askTemporal(ctx context.Context) error {
	if g.Temporal == nil {
		return fault.New(fault.Unavailable, "there is no Temporal server", "set TEMPORAL_ADDRESS")
	}
	if _, err := g.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "Temporal does not answer", "what is accepted meanwhile is kept, and driven when it does")
	}
	return nil
}

// metrics shows the counts, to whom CAIRN_METRICS lets see them.
func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	if g.Config.Metrics == "key" {
		if _, refused := g.authorize(r, Admin); refused != nil {
			refused.write(w)
			return
		}
	}
	shown := g.meter.Handler()
	if shown == nil {
		problem(fault.NotFound, "this gateway keeps no counts", "").write(w)
		return
	}
	shown.ServeHTTP(w, r)
}
