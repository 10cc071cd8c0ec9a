package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/apikey"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bodies holds a valid body for each route that requires one.
var bodies = map[string]any{"rollback": map[string]any{"to": 1}, "pin": map[string]any{"pinned": true},
	"uses": map[string]any{"use_id": "u"}, "backfill": map[string]any{"from": "2026-11-01", "until": "2026-11-02"},
	"outcome": map[string]any{"outcome": "success"}, "vote": map[string]any{"vote": "up"},
	"{id}": map[string]any{"content": "c"}, "patch /v1/schedules/{id}": map[string]any{"cron": "0 1 * * *"}}

// Each route that names an object, called with an admin key of another workspace,
// responds as if the object did not exist; lists are empty.
func TestAThingOfAnotherWorkspaceIsNotThere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.RateLimit = 0 })
	b.distilled()
	var runs httpapi.RunList
	b.get("/v1/runs").into(http.StatusOK, &runs)
	ran := runs.Runs[0].Run
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	b.post("/v1/turns", message("1", 1, "Hello.")).into(http.StatusOK, nil)
	b.post("/v1/memories", map[string]any{"content": "Lives in Osaka."}).into(http.StatusCreated, nil)
	b.waiting("Works at night.")
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	key := b.makeKey(other, access.Admin)
	raw, err := b.gateway.OpenAPI()
	testkit.Must(t, err)
	var described struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	testkit.Must(t, json.Unmarshal(raw, &described))
	asked := 0
	for path, methods := range described.Paths {
		for method := range methods {
			if !strings.Contains(path, "{id}") {
				continue
			}
			asked++
			verb := path[strings.LastIndex(path, "/")+1:]
			ids := []string{"1"}
			switch {
			case strings.HasPrefix(path, "/v1/skills/"):
				ids = append(ids, "service-deployment-rollback")
			case strings.HasPrefix(path, "/v1/runs/"):
				ids = []string{ran}
			}
			for _, id := range ids {
				at := strings.NewReplacer("{id}", id, "{n}", "1", "{message_id}", "m1").Replace(path)
				body, own := bodies[method+" "+path]
				if !own {
					body = bodies[verb]
				}
				b.do(request{method: strings.ToUpper(method), path: at, key: key, body: body}).
					refused(fault.NotFound)
			}
		}
	}
	if asked < 25 {
		t.Errorf("only %d routes were asked", asked)
	}
	for _, list := range []string{"/v1/skills?status=all", "/v1/runs", "/v1/inbox",
		"/v1/search?q=service+deployment+rollback", "/v1/conversations", "/v1/memories?all=true",
		"/v1/soul/history"} {
		if res := b.do(request{path: list, key: key}); res.status != http.StatusOK ||
			strings.Contains(string(res.body), `"id":`) || strings.Contains(string(res.body), `"run":`) ||
			strings.Contains(string(res.body), `"conversation":`) {
			t.Errorf("%s: %d: %s", list, res.status, res.body)
		}
	}
	// Objects of the other workspace belong to it, also with an equal idempotency key.
	res := b.do(request{method: http.MethodPost, path: "/v1/distill", key: key, body: sampleConversation()})
	var a httpapi.AcceptedRequest
	res.into(http.StatusAccepted, &a)
	if !a.New {
		t.Errorf("the other workspace was given a run of the first: %+v", a)
	}
}

func TestOnlyAGoodKeyIsLetIn(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	for name, header := range map[string]string{"none": "", "another scheme": "Basic Y2Fpcm46Y2Fpcm4=",
		"no key": "Bearer ", "foreign key": "Bearer sk-1234",
		"an unknown key": "Bearer cairn_" + strings.Repeat("A", 43), "a longer key": "Bearer " + b.key + "A"} {
		res := b.do(request{path: "/v1/runs", header: map[string]string{"Authorization": header}})
		if res.refused(fault.Unauthenticated); res.status != http.StatusUnauthorized ||
			res.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: status %d, %v", name, res.status, res.header)
		}
	}
	b.get("/v1/runs").into(http.StatusOK, nil)

	keys, err := b.gateway.Keys.List(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	if len(keys) != 1 || !strings.HasPrefix(b.key, keys[0].Hint) || len(keys[0].Hint) > 12 {
		t.Fatalf("keys %+v", keys)
	}
	testkit.Must(t, b.gateway.Keys.Revoke(t.Context(), b.Workspace.ID, keys[0].ID))
	if err := b.gateway.Keys.Revoke(t.Context(), b.Workspace.ID, keys[0].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("revoked twice: %v", err)
	}
	if _, err := (&apikey.Service{Ports: apikey.Ports{Store: b.Store.Keys()}}).
		Principal(t.Context(), b.key); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a gateway that has not seen the key before: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the gateway caches keys for seconds
	defer cancel()
	for b.get("/v1/runs").status == http.StatusOK {
		select {
		case <-ctx.Done():
			t.Fatal("a revoked key is still good")
		case <-time.After(50 * time.Millisecond):
		}
	}
	b.get("/v1/runs").refused(fault.Unauthenticated)
}

func TestAKeyDoesWhatItsScopesSay(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var distill, look, approve = request{method: http.MethodPost, path: "/v1/distill", body: sampleConversation()},
		request{
			path: "/v1/skills",
		}, request{method: http.MethodPost, path: "/v1/inbox/c1/approve", body: object{"sha": "000000000000"}}
	for scope, may := range map[access.Scope][3]bool{access.Read: {false, true, false},
		access.Write: {true, true, false}, access.Admin: {true, true, true}} {
		key := b.makeKey(b.Workspace, scope)
		for i, r := range []request{distill, look, approve} {
			r.key = key
			res := b.do(r)
			if allowed := res.status != http.StatusForbidden; allowed != may[i] {
				t.Errorf("%s, %s: status %d", scope, r.path, res.status)
			}
			if !may[i] {
				res.refused(fault.OutOfScope)
			}
		}
	}
	for name, scopes := range map[string][]access.Scope{"unknown": {"everything"}, "none": nil} {
		if _, _, err := b.gateway.Keys.Create(t.Context(), b.Workspace.ID, "x",
			scopes); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s scope: %v", name, err)
		}
	}
}

// The database stores no usable part of a key.
func TestOnlyTheHashOfAKeyIsStored(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Within(func(ctx context.Context, q store.Tx) error {
		keys, err := q.Keys().Keys(ctx)
		raw, _ := json.Marshal(keys)
		if strings.Contains(string(raw), b.key[:20]) {
			t.Errorf("the store gives the key away: %s", raw)
		}
		return err
	})
}

func TestAKeyThatAsksTooOftenWaits(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0.5 }) // one at once, then one every two seconds
	other := b.makeKey(b.Workspace, access.Read)
	b.get("/v1/runs").into(http.StatusOK, nil)
	res := b.get("/v1/runs")
	if p := res.refused(fault.RateLimited); res.status != http.StatusTooManyRequests || !p.Retryable ||
		res.header.Get("Retry-After") != "2" {
		t.Errorf("status %d, Retry-After %q", res.status, res.header.Get("Retry-After"))
	}
	b.do(request{path: "/v1/runs", key: other}).into(http.StatusOK, nil)
	b.get("/healthz").into(http.StatusOK, nil)
}
