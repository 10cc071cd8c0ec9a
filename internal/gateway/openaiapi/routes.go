package openaiapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"cairn/internal/domain/access"
)

// route is a route of OpenAI's API. Its answer writes the response, unless it returns an error.
type route struct {
	pattern string
	scope   access.Scope
	answer  func(*call) error
}

var table = []route{
	{"GET /v1/models", access.Read, (*call).models},
	{"GET /v1/models/{id...}", access.Read, (*call).model},
	{"POST /v1/chat/completions", access.Write, (*call).chat},
	{"POST /v1/responses", access.Write, (*call).respond},
	{"GET /v1/responses/{id}", access.Read, (*call).showResponse},
	{"DELETE /v1/responses/{id}", access.Write, (*call).deleteResponse},
	{"POST /v1/responses/{id}/cancel", access.Write, (*call).cancelResponse},
}

// Mount adds the routes to mux.
func Mount(mux *http.ServeMux, s Services, o Options, d Door) {
	a := &api{Services: s, options: o, door: d}
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
	from, err := a.door.Authorize(r, route.scope)
	c := &call{api: a, w: w, r: r, from: from}
	if err == nil {
		c.r = r.WithContext(from.Acting(r.Context()))
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
