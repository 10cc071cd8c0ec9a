package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// checkPatience bounds each check of GET /readyz.
const checkPatience = 2 * time.Second

// Health is the response of the liveness check.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Readiness reports whether the gateway can serve requests and which checks failed.
type Readiness struct {
	Ready    bool     `json:"ready"`
	Degraded []string `json:"degraded,omitempty" enum:"temporal,embedder" doc:"Failed checks that do not make the gateway unready. Without Temporal, requests are accepted and answered later. Without the embedder, texts are stored without vectors, and searches compare words."`
	Checks   []Check  `json:"checks"`
	Schema   *Schema  `json:"schema,omitempty" doc:"Schema version of the database; absent if it could not be read"`
}

// Check is the result of checking one dependency.
type Check struct {
	Name    string        `json:"name" enum:"gateway,database,schema,temporal,embedder"`
	Ready   bool          `json:"ready"`
	Millis  int64         `json:"milliseconds" doc:"Duration of the check in milliseconds"`
	Problem *edge.Problem `json:"problem,omitempty"`
}

func (g *Gateway) healthRoutes() {
	handle(g, route{method: http.MethodGet, path: "/healthz", id: "health", tag: tagHealth,
		summary: "Report liveness"},
		func(context.Context, *struct{}) (*bodyOf[Health], error) { return &bodyOf[Health]{Health{"ok"}}, nil })
	handle(g, route{method: http.MethodGet, path: "/readyz", id: "ready", tag: tagHealth,
		summary: "Report whether the gateway can serve requests",
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
		name     string
		required bool
		ask      func(context.Context) error
	}{{"gateway", true, g.stopsSoon}, {"database", true, g.Probes.Database},
		{"schema", true, func(ctx context.Context) (err error) {
			out.Body.Schema, err = g.Probes.Schema(ctx)
			return err
		}},
		{"temporal", false, g.Probes.Temporal}, {"embedder", false, g.Probes.Embedder}}
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
				out.Body.Checks[i].Problem = edge.ProblemOf(err)
			}
		})
	}
	asking.Wait()
	for i, c := range out.Body.Checks {
		switch {
		case c.Ready:
		case checks[i].required:
			out.Status, out.Body.Ready = http.StatusServiceUnavailable, false
		default:
			out.Body.Degraded = append(out.Body.Degraded, c.Name)
		}
	}
	return out, nil
}

func (g *Gateway) stopsSoon(context.Context) error {
	if g.draining.Load() {
		return fault.New(fault.Unavailable, "the gateway is stopping", "send the request to another gateway")
	}
	return nil
}

// metrics serves the metrics to the callers that CAIRN_METRICS allows.
func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	if g.Options.Metrics == "key" {
		if _, _, err := g.Edge.AdmitOperator(r, "", access.Metrics); err != nil {
			g.Edge.Refuse(r.Context(), "admit an operator", err).Write(w)
			return
		}
	}
	shown := g.meter.Handler()
	if shown == nil {
		edge.NewProblem(fault.NotFound, "this gateway records no metrics", "").Write(w)
		return
	}
	shown.ServeHTTP(w, r)
}
