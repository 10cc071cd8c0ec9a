package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// forNoPerson are routes that read and change nothing of a workspace: they are the same for all users of a gateway.
var forNoPerson = []string{"GET /v1/models", "GET /v1/models/1", "POST /v1/people/approve"}

// Every route of every protocol that takes the key of a gateway refuses one that names no user, with the same code.
func TestEdgeEveryProtocolAsksAGatewayForItsUser(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := everything(t)
	key, _, err := b.gateway.Keys.CreateGateway(t.Context(), "webui", "webui", nil)
	testkit.Must(t, err)
	asked := 0
	for _, e := range b.endpoints() {
		other := []string{"/console", "/codec", "/metrics", "/channels"} // admit cookies, operators and signatures
		if slices.ContainsFunc(other, func(p string) bool { return strings.HasPrefix(e.path, p) }) ||
			slices.Contains(forNoPerson, e.String()) || e.method == http.MethodOptions {
			continue
		}
		e.header["Authorization"], e.header["Content-Type"] = "Bearer "+key, "application/json"
		without := b.ask(e, "{}")
		if without.status == http.StatusNotImplemented || without.status == http.StatusOK && b.isOpen(e) {
			continue // for everyone
		}
		if strings.Contains(string(without.body), `"out_of_scope"`) { // for administrators
			continue
		}
		if asked++; without.status != http.StatusBadRequest ||
			!strings.Contains(string(without.body), `"person_required"`) {
			t.Errorf("%s without a user: %d %s", e, without.status, without.body)
		}
		e.header["X-Cairn-Person"] = "ada"
		if with := b.ask(e, "{}"); strings.Contains(string(with.body), `"person_required"`) ||
			with.status == http.StatusUnauthorized {
			t.Errorf("%s with a user: %d %s", e, with.status, with.body)
		}
	}
	if asked < 150 {
		t.Errorf("only %d routes were asked", asked)
	}
	// The console signs in with the keys of workspaces only, whatever a header names.
	for _, header := range []map[string]string{nil, {"X-Cairn-Person": "ada"}} {
		if res := b.signIn(key, header); res.StatusCode < http.StatusBadRequest || len(res.Cookies()) != 0 {
			t.Errorf("sign-in with %v: %d, %v", header, res.StatusCode, res.Cookies())
		}
	}
	if res := b.signIn(key, nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("sign-in has status %d", res.StatusCode)
	}
}

// ask sends a request to a route. It reads only the beginning of the response, which may be a stream.
func (b *bundle) ask(e endpoint, body string) response {
	b.T.Helper()
	ctx, leave := context.WithCancel(b.T.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, e.method, b.url+e.path, strings.NewReader(body))
	testkit.Must(b.T, err)
	for name, value := range e.header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
	return response{status: res.StatusCode, header: res.Header, body: raw}
}

// isOpen reports whether a route needs no key.
func (b *bundle) isOpen(e endpoint) bool {
	e.header = map[string]string{}
	return b.ask(e, "{}").status == http.StatusOK
}

// recorded is a Driver that records the actor of what it is given, and does nothing.
type recorded struct {
	httpapi.Driver
	mu   sync.Mutex
	seen map[string]audit.Actor // by the kind of the run
}

func (r *recorded) note(ctx context.Context, turn run.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[turn.Ref.Run] = audit.From(ctx)
}

func (r *recorded) Start(ctx context.Context, _, _ string, turn run.Run) error {
	r.note(ctx, turn)
	return nil
}

func (r *recorded) Answer(ctx context.Context, _ string, turn run.Run) (contract.TurnResult, error) {
	r.note(ctx, turn)
	return contract.TurnResult{}, context.Canceled
}

// take returns the actors that were recorded since the last call.
func (r *recorded) take() (out []audit.Actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.seen {
		out = append(out, a)
	}
	clear(r.seen)
	return out
}

// What a gateway does for a user is recorded as an act of the gateway's key for this user, over each protocol.
func TestEdgeTheActorIsTheSameOverEveryProtocol(t *testing.T) {
	t.Parallel()
	b := idle(t)
	driver := &recorded{seen: map[string]audit.Actor{}}
	services := b.gateway.Services
	services.Driver = driver
	server := httptest.NewServer(httpapi.New(services, b.gateway.Options, httpapi.NoMeter))
	t.Cleanup(server.Close)
	b.url = server.URL
	key, made, err := b.gateway.Keys.CreateGateway(t.Context(), "webui", "webui", nil)
	testkit.Must(t, err)
	own, err := b.gateway.Keys.List(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	for what, c := range map[string]struct {
		path, body string
		inBody     bool
	}{
		"turns":           {"/v1/turns", `{"conversation":"c","message_id":"m","text":"Hi","channel":"chat"}`, false},
		"chat":            {"/v1/chat/completions", chatOf("One"), false},
		"chat, in body":   {"/v1/chat/completions", chatOf("Two", `"user":"ada"`), true},
		"chat, streamed":  {"/v1/chat/completions", chatOf("Three", `"user":"ada","stream":true`), true},
		"responses":       {"/v1/responses", `{"model":"cairn","input":"Four"}`, false},
		"responses, body": {"/v1/responses", `{"model":"cairn","input":"Five","safety_identifier":"ada"}`, true},
	} {
		for _, gateway := range []bool{true, false} {
			e := endpoint{http.MethodPost, c.path, map[string]string{"Authorization": "Bearer " + b.key,
				"Content-Type": "application/json", "X-Request-Id": "req-1"}}
			want := audit.Actor{Kind: audit.Key, KeyID: own[0].ID, Request: "req-1", Address: "127.0.0.1"}
			if gateway {
				e.header["Authorization"] = "Bearer " + key
				if !c.inBody {
					e.header["X-Cairn-Person"] = "ada"
				}
				want.Kind, want.KeyID, want.Account = audit.Operator, made.ID, "webui/ada"
			}
			b.leaves(e, c.body, driver)
			for _, a := range driver.take() {
				if a != want {
					t.Errorf("%s, gateway %t: %+v, want %+v", what, gateway, a, want)
				}
			}
		}
	}
}

// chatOf returns the body of a chat with more members.
func chatOf(text string, more ...string) string {
	members := append([]string{`"model":"cairn"`, fmt.Sprintf(`"messages":[{"role":"user","content":%q}]`, text)},
		more...)
	return "{" + strings.Join(members, ",") + "}"
}

// leaves sends a request, and disconnects when its turn was sent to the driver.
func (b *bundle) leaves(e endpoint, body string, driver *recorded) {
	b.T.Helper()
	ctx, leave := context.WithCancel(b.T.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, e.method, b.url+e.path, strings.NewReader(body))
	testkit.Must(b.T, err)
	for name, value := range e.header {
		r.Header.Set(name, value)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	testkit.Eventually(b.T, "a turn starts over "+e.path, func() bool {
		driver.mu.Lock()
		defer driver.mu.Unlock()
		return len(driver.seen) > 0
	})
	leave()
	<-ended
}

// The audit log of a user's workspace names the key of the gateway and the user, also for tools over MCP.
func TestEdgeTheAuditLogNamesTheGatewayAndItsUser(t *testing.T) {
	t.Parallel()
	b := idle(t)
	key, made, err := b.gateway.Keys.CreateGateway(t.Context(), "webui", "webui", nil)
	testkit.Must(t, err)
	header := map[string]string{"X-Cairn-Person": "ada", "X-Request-Id": "req-1",
		"Accept": "application/json, text/event-stream"}
	session := func(text string) string { return fmt.Sprintf(`[{"role":"user","content":%q}]`, text) }
	arguments, err := json.Marshal(object{"session": session("Over MCP")})
	testkit.Must(t, err)
	for _, r := range []request{
		{method: http.MethodPost, path: "/v1/imports?format=openai-chat", body: []byte(session("Over HTTP"))},
		{method: http.MethodPost, path: "/mcp?profile=memory", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
			`"params":{"name":"import_session","arguments":` + string(arguments) + `}}`},
	} {
		r.key, r.header = key, header
		if res := b.do(r); res.status >= http.StatusBadRequest || strings.Contains(string(res.body), `"error"`) {
			t.Fatalf("%s: %d %s", r.path, res.status, res.body)
		}
	}
	ws, err := b.Store.Workspace(t.Context(), "person/webui/ada", false)
	testkit.Must(t, err)
	seen, err := b.gateway.Audit.List(t.Context(), ws.ID, audit.Filter{Action: audit.SessionsImport}, 10)
	testkit.Must(t, err)
	if len(seen) != 2 {
		t.Fatalf("%+v", seen)
	}
	for _, e := range seen {
		if e.Actor != (audit.Author{Kind: audit.Operator, KeyID: made.ID, Name: "webui/ada"}) || e.Request != "req-1" ||
			e.Address != "127.0.0.1" {
			t.Errorf("%+v", e)
		}
	}
}
