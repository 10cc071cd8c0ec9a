package mem0api_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/gateway/mem0api"
	"cairn/internal/testkit"
)

// The scope of each route; {id} is an existing memory.
var scopes = map[access.Scope][]string{
	access.Read: {"GET /memories?user_id=ada", "GET /memories/{id}", "GET /memories/{id}/history", "POST /search",
		"GET /configure", "GET /configure/providers", "GET /entities", "GET /auth/me", "GET /v1/ping/",
		"POST /v3/memories/search/", "POST /v3/memories/", "GET /v1/memories/{id}/", "GET /v1/memories/{id}/history/",
		"GET /v1/event/e/", "GET /v1/events/", "GET /v1/entities/", "POST /v2/memories/", "POST /v2/memories/search/",
		"GET /v1/memories/?user_id=ada", "POST /v1/memories/search/",
		"GET /api/v1/orgs/organizations/cairn/projects/p/"},
	access.Write: {
		"POST /v1/memories/",
		"POST /memories",
		"PUT /memories/{id}",
		"POST /v3/memories/add/",
		"PUT /v1/memories/{id}/",
		"PUT /v1/batch/",
		"DELETE /v1/batch/",
		"POST /v1/feedback/",
		"DELETE /memories/{id}",
		"DELETE /v1/memories/{id}/",
	},
	access.Admin: {"DELETE /memories?user_id=ada", "POST /reset", "POST /configure", "DELETE /entities/user/ada",
		"GET /api-keys", "POST /api-keys", "DELETE /api-keys/x", "GET /requests", "DELETE /v1/memories/?user_id=ada",
		"DELETE /v1/entities/user/ada/", "DELETE /v2/entities/user/ada/",
		"PATCH /api/v1/orgs/organizations/cairn/projects/p/"},
}

func TestAKeyNeedsTheScopeOfItsRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.client().adds("one", object{"user_id": "ada"})
	keys := map[access.Scope]string{}
	for scope := range scopes {
		keys[scope] = b.makeKey(b.A, scope)
	}
	body := object{"user_id": "ada", "query": "x", "filters": object{"user_id": "ada"}}
	for _, needed := range []access.Scope{access.Read, access.Write, access.Admin} {
		for _, route := range scopes[needed] {
			method, path, _ := strings.Cut(strings.ReplaceAll(route, "{id}", id), " ")
			without := b.as("").do(method, path, body)
			if without.refused(http.StatusUnauthorized); without.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %v", route, without.header)
			}
			for scope, key := range keys {
				if needed == access.Admin && scope == access.Admin || route == "POST /configure" {
					continue // these routes delete; other tests cover them
				}
				r, may := b.as(key).do(method, path, body), needed.Allows([]string{string(scope)})
				if refused := strings.Contains(string(r.body), "out_of_scope"); refused == may {
					t.Errorf("%s with a key to %s: status %d: %s", route, scope, r.status, r.body)
				}
			}
		}
	}
}

// The key of a gateway acts for a user, and is recorded as what it is, not as a workspace's key with the same number.
func TestTheKeyOfAGatewayActsForAUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made, err := b.keys.CreateGateway(t.Context(), "webui", "webui", nil)
	testkit.Must(t, err)
	for _, needed := range []access.Scope{access.Read, access.Write} {
		for _, route := range scopes[needed] {
			method, path, _ := strings.Cut(route, " ")
			if p := b.as(key).do(method, path, nil).refused(http.StatusBadRequest); p.Code != "person_required" {
				t.Errorf("%s without a user: %+v", route, p)
			}
		}
	}
	ada := b.as(key).with("X-Cairn-Person", "ada")
	ada.adds("Ada sails.", object{"user_id": "ada"})
	if got := b.as(key).with("X-Cairn-Person", "ben").lists("user_id=ada"); got != "" {
		t.Errorf("another user reads %q", got)
	}
	if got := ada.lists("user_id=ada"); got != "Ada sails." {
		t.Errorf("the user reads %q", got)
	}
	if r := ada.do(http.MethodGet, "/api-keys", nil); r.status != http.StatusForbidden {
		t.Errorf("the user lists keys: %d %s", r.status, r.body)
	}
	ada.do(http.MethodPost, "/memories", said)
	b.client().do(http.MethodPost, "/memories", said)
	if len(b.actors) != 2 || b.actors[0].Kind != audit.Operator || b.actors[0].KeyID != made.ID ||
		b.actors[0].Account != "webui/ada" || b.actors[1].Kind != audit.Key || b.actors[1].Account != "" {
		t.Errorf("%+v", b.actors)
	}
}

func TestAKeyIsTakenFromAnyOfItsPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for header, good := range map[string]bool{
		"Authorization: Token " + b.key:  true,
		"Authorization: token " + b.key:  true,
		"Authorization: Bearer " + b.key: true,
		"X-API-Key: " + b.key:            true,
		"X-API-Key: m0-key":              false,
		"Authorization: Basic " + b.key:  false,
		"Authorization: " + b.key:        false,
	} {
		name, value, _ := strings.Cut(header, ": ")
		c := client{b, "/mem0", map[string]string{name: value}}
		if r := c.do(http.MethodGet, "/v1/ping/", nil); (r.status == http.StatusOK) != good {
			t.Errorf("%s: status %d", header, r.status)
		}
	}
	both := client{b, "/mem0", map[string]string{"X-API-Key": b.key, "Authorization": "Bearer another"}}
	both.do(http.MethodGet, "/v1/ping/", nil).into(&struct{}{})
}

func TestRoutesStandAtTheRootWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.do(http.MethodGet, "/v1/ping/", nil).into(&struct{}{})
	c.mount = ""
	if r := c.do(http.MethodGet, "/v1/ping/", nil); r.status != http.StatusNotFound {
		t.Errorf("at the root: %d", r.status)
	}
	c = setup(t, func(o *mem0api.Options) { o.Root = true }).client()
	for _, mount := range []string{"", "/mem0"} {
		c.mount = mount
		c.do(http.MethodGet, "/v1/ping/", nil).into(&struct{}{})
	}
}

func TestWhatCairnDoesNotOfferSaysWhatDoesItInstead(t *testing.T) {
	t.Parallel()
	c := setup(t).as("")
	for _, route := range []string{"POST /auth/login", "PATCH /auth/me", "POST /generate-instructions",
		"POST /v1/exports/", "GET /v2/profiles/x",
		"GET /v2/entities/user/ada/profile/", "POST /api/v1/webhooks/x/", "GET /api/v1/orgs/x/"} {
		method, path, _ := strings.Cut(route, " ")
		p := c.do(method, path, nil).refused(http.StatusNotImplemented)
		if p.Code != "not_implemented" || !strings.HasPrefix(p.Detail, path) {
			t.Errorf("%s: %+v", route, p)
		}
	}
	for _, path := range []string{"/v9/memories/", "/memories/a/b/c", "/"} {
		c.do(http.MethodGet, path, nil).refused(http.StatusNotFound)
	}
	var status map[string]bool
	if c.do(http.MethodGet, "/auth/setup-status", nil).into(&status); status["needsSetup"] {
		t.Errorf("%v", status)
	}
}

func TestKeysAreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	type key struct {
		ID, Key, Label string
		Prefix         string `json:"key_prefix"`
		Scopes         []string
	}
	var made, reader key
	r := c.do(http.MethodPost, "/api-keys", object{"label": "the shop"})
	if r.into(&made); r.status != http.StatusCreated || len(made.Scopes) != 2 ||
		!strings.HasPrefix(made.Key, made.Prefix) {
		t.Errorf("%d: %+v", r.status, made)
	}
	c.do(http.MethodPost, "/api-keys", object{"label": "a reader", "scopes": []string{"read"}}).into(&reader)
	b.as(made.Key).adds("one", object{"user_id": "ada"})
	b.as(reader.Key).do(http.MethodPost, "/memories", said).refused(http.StatusForbidden)
	wants := func(labels string) {
		t.Helper()
		var all []key
		c.do(http.MethodGet, "/api-keys", nil).into(&all)
		got := ""
		for _, k := range all {
			if got += k.Label + " "; k.Key != "" {
				t.Errorf("a key is shown: %+v", k)
			}
		}
		if got != labels {
			t.Errorf("listed %s, want %s", got, labels)
		}
	}
	wants("a reader the shop test ")
	c.do(http.MethodDelete, "/api-keys/"+made.ID, nil).into(&struct{}{})
	wants("a reader test ")
	c.do(http.MethodDelete, "/api-keys/"+made.ID, nil).refused(http.StatusNotFound)
	c.do(http.MethodDelete, "/api-keys/first", nil).refused(http.StatusNotFound)
	c.do(http.MethodPost, "/api-keys", object{"label": " "}).refused(http.StatusBadRequest)
	c.do(http.MethodPost, "/api-keys", object{"label": "x", "scopes": []string{"root"}}).refused(http.StatusBadRequest)
	other := b.as(b.makeKey(b.B, access.Admin))
	other.do(http.MethodDelete, "/api-keys/"+reader.ID, nil).refused(http.StatusNotFound)
}
