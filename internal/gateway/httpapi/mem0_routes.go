package httpapi

import (
	"net/http"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// mem0Route is a route under a prefix of each mount.
type mem0Route struct {
	pattern string
	scope   apikey.Scope // that a key needs; empty is open to everybody
	status  int          // of success; 0 is 200
	answer  func(*mem0Call) (any, error)
}

func (g *Gateway) mem0Routes() {
	mounts := []string{"/mem0"}
	if g.Options.Mem0Compat == "root" {
		mounts = append(mounts, "")
	}
	for _, mount := range mounts {
		for _, r := range mem0Table {
			at := strings.Replace(r.pattern, "/", mount+"/", 1)
			g.mux.HandleFunc(at, func(w http.ResponseWriter, req *http.Request) { g.mem0(w, req, r) })
		}
	}
	unknown := mem0Route{pattern: "unknown", answer: (*mem0Call).unknown}
	g.mux.HandleFunc("/mem0/", func(w http.ResponseWriter, req *http.Request) { g.mem0(w, req, unknown) })
}

func (c *mem0Call) unknown() (any, error) {
	return nil, fault.New(fault.NotFound, "Not Found: "+c.r.Method+" "+c.r.URL.Path, "the routes of mem0 that Cairn has are listed in README.md")
}

// Accounts, webhooks and whatever else only mem0 has.
const (
	noAccounts = "Cairn has keys and no accounts: `cairn keys create`, or POST /api-keys with a key of the scope admin"
	noProfiles = "GET /v1/memories with memory_targets shows what is known of a user"
	noExport   = "GET /v1/memories/dump streams all memories"
	noHooks    = "GET /v1/runs/{id}/events streams what happens in a run"
	noProjects = "PATCH /v1/settings changes a workspace"
)

var mem0Table = []mem0Route{ // what the self-hosted server has
	{"POST /memories", apikey.Write, 0, (*mem0Call).add},
	{"GET /memories", apikey.Read, 0, (*mem0Call).getAll},
	{"DELETE /memories", apikey.Admin, 0, (*mem0Call).deleteAll},
	{"GET /memories/{id}", apikey.Read, 0, (*mem0Call).get},
	{"PUT /memories/{id}", apikey.Write, 0, (*mem0Call).update},
	{"DELETE /memories/{id}", apikey.Write, 0, (*mem0Call).remove},
	{"GET /memories/{id}/history", apikey.Read, 0, (*mem0Call).history},
	{"POST /search", apikey.Read, 0, (*mem0Call).search},
	{"POST /reset", apikey.Admin, 0, (*mem0Call).reset},
	{"GET /configure", apikey.Read, 0, (*mem0Call).configuration},
	{"POST /configure", apikey.Admin, 0, (*mem0Call).configure},
	{"GET /configure/providers", apikey.Read, 0, (*mem0Call).providers},
	{"GET /entities", apikey.Read, 0, (*mem0Call).entities},
	{"DELETE /entities/{type}/{id}", apikey.Admin, 0, (*mem0Call).removeEntity},
	{"GET /api-keys", apikey.Admin, 0, (*mem0Call).keys},
	{"POST /api-keys", apikey.Admin, http.StatusCreated, (*mem0Call).makeKey},
	{"DELETE /api-keys/{id}", apikey.Admin, 0, (*mem0Call).revokeKey},
	{"GET /requests", apikey.Admin, 0, (*mem0Call).requests},
	{"GET /auth/setup-status", "", 0, (*mem0Call).setupStatus},
	{"GET /auth/me", apikey.Read, 0, (*mem0Call).me},
	{"PATCH /auth/me", "", 0, notOffered(noAccounts)},
	{"POST /auth/{what}", "", 0, notOffered(noAccounts)},
	{"POST /generate-instructions", "", 0, notOffered("the prompts are Cairn's; memory skills (`cairn bank`) say what is remembered")},

	// What the platform has, and its clients call.
	{"GET /v1/ping/{$}", apikey.Read, 0, (*mem0Call).ping},
	{"POST /v3/memories/add/{$}", apikey.Write, 0, (*mem0Call).addLater},
	{"POST /v3/memories/search/{$}", apikey.Read, 0, (*mem0Call).search},
	{"POST /v3/memories/{$}", apikey.Read, 0, (*mem0Call).page},
	{"GET /v1/memories/{id}/{$}", apikey.Read, 0, (*mem0Call).get},
	{"PUT /v1/memories/{id}/{$}", apikey.Write, 0, (*mem0Call).update},
	{"DELETE /v1/memories/{id}/{$}", apikey.Write, 0, (*mem0Call).remove},
	{"GET /v1/memories/{id}/history/{$}", apikey.Read, 0, (*mem0Call).history},
	{"DELETE /v1/memories/{$}", apikey.Admin, 0, (*mem0Call).deleteAll},
	{"PUT /v1/batch/{$}", apikey.Write, 0, (*mem0Call).updateMany},
	{"DELETE /v1/batch/{$}", apikey.Write, 0, (*mem0Call).removeMany},
	{"POST /v1/feedback/{$}", apikey.Write, 0, (*mem0Call).rate},
	{"GET /v1/event/{id}/{$}", apikey.Read, 0, (*mem0Call).event},
	{"GET /v1/events/{$}", apikey.Read, 0, (*mem0Call).events},
	{"GET /v1/entities/{$}", apikey.Read, 0, (*mem0Call).entityPage},
	{"DELETE /v1/entities/{type}/{id}/{$}", apikey.Admin, 0, (*mem0Call).removeEntity},
	{"DELETE /v2/entities/{type}/{id}/{$}", apikey.Admin, 0, (*mem0Call).removeEntity},
	{"GET /v2/entities/{type}/{id}/profile/{$}", "", 0, notOffered(noProfiles)},
	{"/v2/profiles/", "", 0, notOffered(noProfiles)},
	{"/v1/exports/", "", 0, notOffered(noExport)},
	{"/api/v1/webhooks/", "", 0, notOffered(noHooks)},
	{"/api/v1/orgs/", "", 0, notOffered(noProjects)},
}
