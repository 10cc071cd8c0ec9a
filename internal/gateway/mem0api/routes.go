package mem0api

import (
	"net/http"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// route is a route below the prefix of each mount.
type route struct {
	pattern string
	scope   access.Scope // required scope of the key; empty means no authentication
	status  int          // status of success; 0 means 200
	answer  func(*call) (any, error)
}

// Mount adds the routes of mem0 to mux below /mem0, and also without prefix if o.Root is set.
func Mount(mux *http.ServeMux, s Services, o Options, e *edge.Edge) {
	a := &api{Services: s, options: o, edge: e}
	mounts := []string{"/mem0"}
	if o.Root {
		mounts = append(mounts, "")
	}
	for _, mount := range mounts {
		for _, r := range table {
			at := strings.Replace(r.pattern, "/", mount+"/", 1)
			mux.HandleFunc(at, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
		}
	}
	unknown := route{pattern: "unknown", answer: (*call).unknown}
	mux.HandleFunc("/mem0/", func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, unknown) })
}

// bare returns the results of an answer as a list.
func bare(answer func(*call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		out, err := answer(c)
		switch v := out.(type) {
		case mem0Page:
			return v.Results, err
		case map[string]any:
			return v["results"], err
		}
		return out, err
	}
}

func (c *call) unknown() (any, error) {
	return nil, fault.New(fault.NotFound, "Not Found: "+c.r.Method+" "+c.r.URL.Path,
		"see docs/how-to/mem0.md for the supported routes of mem0")
}

// Hints for accounts, webhooks and other features that only mem0 has.
const (
	noAccounts = "Cairn has keys instead of accounts: create one with `cairn keys create`, or with POST /api-keys " +
		"and an admin key"
	noProfiles = "list the memories of a user with GET /v1/memories and the parameter targets"
	noExport   = "export all memories with GET /v1/memories/dump"
	noHooks    = "follow a run with GET /v1/runs/{id}/events"
	noProjects = "a project is a workspace: create one with `cairn keys create --workspace NAME --name KEY`, and " +
		"remove it with `cairn erase NAME`"
)

var table = []route{ // routes of the self-hosted server
	{"POST /memories", access.Write, 0, (*call).add},
	{"GET /memories", access.Read, 0, (*call).getAll},
	{"DELETE /memories", access.Admin, 0, (*call).deleteAll},
	{"GET /memories/{id}", access.Read, 0, (*call).get},
	{"PUT /memories/{id}", access.Write, 0, (*call).update},
	{"DELETE /memories/{id}", access.Write, 0, (*call).remove},
	{"GET /memories/{id}/history", access.Read, 0, (*call).history},
	{"POST /search", access.Read, 0, (*call).search},
	{"POST /reset", access.Admin, 0, (*call).reset},
	{"GET /configure", access.Read, 0, (*call).configuration},
	{"POST /configure", access.Admin, 0, (*call).configure},
	{"GET /configure/providers", access.Read, 0, (*call).providers},
	{"GET /entities", access.Read, 0, (*call).entities},
	{"DELETE /entities/{type}/{id}", access.Admin, 0, (*call).removeEntity},
	{"GET /api-keys", access.Admin, 0, (*call).keys},
	{"POST /api-keys", access.Admin, http.StatusCreated, (*call).makeKey},
	{"DELETE /api-keys/{id}", access.Admin, 0, (*call).revokeKey},
	{"GET /requests", access.Admin, 0, (*call).requests},
	{"GET /auth/setup-status", "", 0, (*call).setupStatus},
	{"GET /auth/me", access.Read, 0, (*call).me},
	{"PATCH /auth/me", "", 0, notOffered(noAccounts)},
	{"POST /auth/{what}", "", 0, notOffered(noAccounts)},
	{"POST /generate-instructions", "", 0,
		notOffered("the prompts cannot be changed; control what is remembered with memory skills, see `cairn bank`")},

	// Routes of the platform that its clients call.
	{"GET /v1/ping/{$}", access.Read, 0, (*call).ping},
	{"POST /v3/memories/add/{$}", access.Write, 0, (*call).addLater},
	{"POST /v1/memories/{$}", access.Write, 0, (*call).addOne},
	{"POST /v3/memories/search/{$}", access.Read, 0, (*call).find},
	{"POST /v2/memories/search/{$}", access.Read, 0, (*call).find},
	{"POST /v1/memories/search/{$}", access.Read, 0, bare((*call).find)},
	{"POST /v3/memories/{$}", access.Read, 0, (*call).page},
	{"POST /v2/memories/{$}", access.Read, 0, (*call).page},
	{"GET /v1/memories/{$}", access.Read, 0, bare((*call).page)},
	{"GET /v1/memories/{id}/{$}", access.Read, 0, (*call).get},
	{"PUT /v1/memories/{id}/{$}", access.Write, 0, (*call).update},
	{"DELETE /v1/memories/{id}/{$}", access.Write, 0, (*call).remove},
	{"GET /v1/memories/{id}/history/{$}", access.Read, 0, (*call).history},
	{"DELETE /v1/memories/{$}", access.Admin, 0, (*call).deleteAll},
	{"PUT /v1/batch/{$}", access.Write, 0, (*call).updateMany},
	{"DELETE /v1/batch/{$}", access.Write, 0, (*call).removeMany},
	{"POST /v1/feedback/{$}", access.Write, 0, (*call).rate},
	{"GET /v1/event/{id}/{$}", access.Read, 0, (*call).event},
	{"GET /v1/events/{$}", access.Read, 0, (*call).events},
	{"GET /v1/entities/{$}", access.Read, 0, (*call).entityPage},
	{"DELETE /v1/entities/{type}/{id}/{$}", access.Admin, 0, (*call).removeEntity},
	{"DELETE /v2/entities/{type}/{id}/{$}", access.Admin, 0, (*call).removeEntity},
	{"GET /v2/entities/{type}/{id}/profile/{$}", "", 0, notOffered(noProfiles)},
	{"/v2/profiles/", "", 0, notOffered(noProfiles)},
	{"/v1/exports/", "", 0, notOffered(noExport)},
	{"/v1/summary/", "", 0, notOffered(noExport)},
	{"/api/v1/webhooks/", "", 0, notOffered(noHooks)},
	{"GET /api/v1/orgs/organizations/{org}/projects/{project}/{$}", access.Read, 0, (*call).project},
	{"PATCH /api/v1/orgs/organizations/{org}/projects/{project}/{$}", access.Admin, 0, (*call).changeProject},
	{"/api/v1/orgs/organizations/{org}/projects/{project}/members/{$}", "", 0, notOffered(noAccounts)},
	{"/api/v1/orgs/", "", 0, notOffered(noProjects)},
}
