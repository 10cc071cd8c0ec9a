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

// checkPatience bounds each check of GET /readyz.
const checkPatience = 2 * time.Second

// Health is the response of the liveness check.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Readiness reports whether the gateway can serve requests and which checks failed.
type Readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
	Schema *Schema `json:"schema,omitempty" doc:"Schema version of the database; absent if it could not be read"`

	Degraded string   `json:"degraded,omitempty" enum:"embedder" doc:"Set to embedder if the embedding model is not usable: texts are stored without vectors, and searches compare words"`
	Problem  *Problem `json:"problem,omitempty" doc:"Why the gateway is degraded"`
}

// Check is the result of checking one dependency.
type Check struct {
	Name    string   `json:"name" enum:"database,temporal,schema"`
	Ready   bool     `json:"ready"`
	Millis  int64    `json:"milliseconds" doc:"Duration of the check in milliseconds"`
	Problem *Problem `json:"problem,omitempty"`
}

func (g *Gateway) healthRoutes() {
	handle(g, route{method: http.MethodGet, path: "/healthz", id: "health", tag: tagHealth,
		summary: "Report liveness"},
		func(context.Context, *struct{}) (*bodyOf[Health], error) { return &bodyOf[Health]{Health{"ok"}}, nil })
	handle(g, route{method: http.MethodGet, path: "/readyz", id: "ready", tag: tagHealth,
		summary: "Report readiness of the database, its schema and Temporal",
		responses: map[string]*huma.Response{
			"503": {Description: "A check has failed",
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
	asking.Go(func() {
		if err := g.Probes.Embedder(ctx); err != nil {
			out.Body.Degraded, out.Body.Problem = "embedder", problemOf(err)
		}
	})
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

// metrics serves the metrics to the callers that CAIRN_METRICS allows.
func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	if g.Options.Metrics == "key" {
		if _, refused := g.authenticateOperator(r, apikey.Metrics); refused != nil {
			refused.write(w)
			return
		}
	}
	shown := g.meter.Handler()
	if shown == nil {
		problem(fault.NotFound, "this gateway records no metrics", "").write(w)
		return
	}
	shown.ServeHTTP(w, r)
}
