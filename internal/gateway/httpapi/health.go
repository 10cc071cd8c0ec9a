package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// checkPatience bounds each question of a readiness check.
const checkPatience = 2 * time.Second

// Health is that the process answers.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Readiness is whether requests can be served, and if not, what is missing.
type Readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
	Schema *Schema `json:"schema,omitempty" doc:"Which version the database's schema has; absent when nobody could tell"`
}

// Check is one thing that the gateway needs.
type Check struct {
	Name    string   `json:"name" enum:"database,temporal,schema"`
	Ready   bool     `json:"ready"`
	Millis  int64    `json:"milliseconds" doc:"That the answer took"`
	Problem *Problem `json:"problem,omitempty"`
}

func (g *Gateway) healthRoutes() {
	handle(g, route{method: http.MethodGet, path: "/healthz", id: "health", tag: tagHealth,
		summary: "Tell that the process answers"},
		func(context.Context, *struct{}) (*bodyOf[Health], error) { return &bodyOf[Health]{Health{"ok"}}, nil })
	handle(g, route{method: http.MethodGet, path: "/readyz", id: "ready", tag: tagHealth,
		summary: "Tell whether the database, with this program's schema, and Temporal answer",
		responses: map[string]*huma.Response{
			"503": {Description: "Something is missing",
				Content: content("application/json", schemaOf[Readiness](g))}}}, g.ready)
	if g.Options.Metrics != "off" {
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
	}{{"database", g.Probes.Database}, {"temporal", g.Probes.Temporal},
		{"schema", func(ctx context.Context) (err error) {
			out.Body.Schema, err = g.Probes.Schema(ctx)
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

// metrics shows the counts, to whom CAIRN_METRICS lets see them.
func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	if g.Options.Metrics == "key" {
		if _, refused := g.authorize(r, apikey.Admin); refused != nil {
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
