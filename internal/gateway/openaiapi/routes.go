package openaiapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/edge"
)

// route is a route of OpenAI's API. Its answer writes the response, unless it returns an error.
type route struct {
	pattern string
	scope   access.Scope
	person  personRule
	answer  func(*call) error
}

// personRule is how a request with the key of a gateway names its user.
type personRule int

const (
	inHeader  personRule = iota
	inBody               // or in a header
	noneAsked            // the route is the same for all users
)

var table = []route{
	{"GET /v1/models", access.Read, noneAsked, (*call).models},
	{"GET /v1/models/{id...}", access.Read, noneAsked, (*call).model},
	{"POST /v1/chat/completions", access.Write, inBody, (*call).chat},
	{"POST /v1/responses", access.Write, inBody, (*call).respond},
	{"GET /v1/responses/{id}", access.Read, inHeader, (*call).showResponse},
	{"DELETE /v1/responses/{id}", access.Write, inHeader, (*call).deleteResponse},
	{"POST /v1/responses/{id}/cancel", access.Write, inHeader, (*call).cancelResponse},
}

// Mount adds the routes to mux.
func Mount(mux *http.ServeMux, s Services, o Options, e *edge.Edge) {
	a := &api{Services: s, options: o, edge: e, streams: e.NewStreams(streamLimits)}
	for _, r := range table {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
	}
	if len(o.Origins) > 0 {
		for _, path := range []string{"/v1/models", "/v1/models/{id...}", "/v1/chat/completions", "/v1/responses",
			"/v1/responses/{id}", "/v1/responses/{id}/cancel"} {
			mux.HandleFunc("OPTIONS "+path, a.preflight)
		}
	}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request, route route) {
	a.allowOrigin(w, r)
	c := &call{api: a, w: w, r: r}
	terms := edge.Terms{Scope: route.scope, PersonOptional: route.person == noneAsked}
	if route.person == inBody {
		terms.Person = c.person
	}
	ctx, err := a.edge.Admit(r, terms)
	if err == nil {
		c.r, c.from = r.WithContext(ctx), edge.Caller(ctx)
		err = route.answer(c)
	}
	if err != nil && !errors.Is(err, context.Canceled) { // canceled: the client has disconnected
		c.fail(route.pattern, err)
	}
}

// preflight answers the question of a browser whether a page of another origin may send a request.
func (a *api) preflight(w http.ResponseWriter, r *http.Request) {
	if a.allowOrigin(w, r) {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(a.options.Origins, origin) && !slices.Contains(a.options.Origins, "*") {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Access-Control-Expose-Headers", "X-Request-Id, X-Cairn-Conversation, X-Cairn-Run, Retry-After")
	return true
}
