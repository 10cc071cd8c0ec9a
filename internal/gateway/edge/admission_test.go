package edge_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/testkit"
)

// The number of a gateway's key is that of an operator key, so it may be the number of a workspace's key, too.
func TestTheActorIsTheKeyThatWasSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, id := b.key(b.db.A, access.Write)
	gateway, number := b.gatewayKey("webui")
	if id != number {
		t.Fatalf("the key has number %d and that of the gateway %d: the test needs equal ones", id, number)
	}
	if a := b.actor(b.Admit(b.request(own), edge.Terms{Scope: access.Write})); a != (audit.Actor{Kind: audit.Key,
		KeyID: id, Request: "req-1", Address: "192.0.2.1"}) {
		t.Errorf("the key of a workspace is %+v", a)
	}
	for what, terms := range map[string]edge.Terms{"a header": {Scope: access.Write},
		"the body": {Scope: access.Write, Person: func() (string, error) { return "ada", nil }}} {
		r := b.request(gateway)
		if terms.Person == nil {
			r = b.request(gateway, "X-Cairn-Person", "ada")
		}
		ctx, err := b.Admit(r, terms)
		if a := b.actor(ctx, err); a != (audit.Actor{Kind: audit.Operator, KeyID: number, Account: "webui/ada",
			Request: "req-1", Address: "192.0.2.1"}) {
			t.Errorf("the key of a gateway with a user in %s is %+v", what, a)
		}
		if ws := edge.Caller(ctx).Workspace; ws.Name != "person/webui/ada" {
			t.Errorf("a user in %s has the workspace %+v", what, ws)
		}
	}
}

func TestTheKeyOfAGatewayNeedsAUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gateway, number := b.gatewayKey("webui")
	empty := func() (string, error) { return "", nil }
	for what, terms := range map[string]edge.Terms{"read": {Scope: access.Read}, "write": {Scope: access.Write},
		"an empty member": {Scope: access.Write, Person: empty}, "a key elsewhere": {Scope: access.Read, Key: gateway},
		"bytes":       {Scope: access.Write, Limit: edge.ByBytes},
		"a signature": {Scope: access.Read, Key: gateway, Limit: edge.Unlimited}} {
		if _, err := b.Admit(b.request(gateway), terms); fault.CodeOf(err) != fault.PersonRequired {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, terms := range map[string]edge.Terms{"an optional user": {Scope: access.Read, PersonOptional: true},
		"the scope gateway": {Scope: access.Gateway}} {
		ctx, err := b.Admit(b.request(gateway), terms)
		if a := b.actor(ctx, err); a.Kind != audit.Operator || a.KeyID != number || a.Account != "" ||
			edge.Caller(ctx).Workspace.ID != 0 {
			t.Errorf("%s: %+v", what, a)
		}
	}
	// The key of a workspace acts for its workspace, whatever a header names.
	own, _ := b.key(b.db.A, access.Read)
	ctx, err := b.Admit(b.request(own, "X-Cairn-Person", "ada"), edge.Terms{Scope: access.Read})
	testkit.Must(t, err)
	if h := edge.Caller(ctx); h.Workspace != b.db.A || h.Person != "" {
		t.Errorf("%+v", h)
	}
}

func TestKeysAreRefusedWithOneCode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reader, _ := b.key(b.db.A, access.Read)
	gateway, _ := b.gatewayKey("webui")
	for what, c := range map[string]struct {
		key   string
		scope access.Scope
		code  fault.Code
	}{
		"no key":           {"", access.Read, fault.Unauthenticated},
		"an unknown key":   {"cairn_" + strings.Repeat("A", 43), access.Read, fault.Unauthenticated},
		"an unknown one":   {"cairn_gw_" + strings.Repeat("A", 43), access.Read, fault.Unauthenticated},
		"a reader":         {reader, access.Write, fault.OutOfScope},
		"a gateway":        {gateway, access.Admin, fault.OutOfScope},
		"no gateway's key": {reader, access.Gateway, fault.OutOfScope},
	} {
		_, err := b.Admit(b.request(c.key, "X-Cairn-Person", "ada"), edge.Terms{Scope: c.scope})
		if p := edge.ProblemOf(err); p.Code != c.code ||
			(p.GetHeaders().Get("WWW-Authenticate") != "") != (c.code == fault.Unauthenticated) {
			t.Errorf("%s: %v, %v", what, err, p.GetHeaders())
		}
	}
}

// A user's requests over a gateway take nothing from the limit of a key with the same number.
func TestEachHolderHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *edge.Options) { o.RateLimit = 0.5 })
	gateway, number := b.gatewayKey("webui")
	ask := func(key, person string) error {
		_, err := b.Admit(b.request(key, "X-Cairn-Person", person), edge.Terms{Scope: access.Read})
		return err
	}
	testkit.Must(t, ask(gateway, "ada"))
	ws, err := b.db.Workspace(t.Context(), "person/webui/ada", false)
	testkit.Must(t, err)
	own, id := b.key(ws, access.Read)
	if id != number {
		t.Fatalf("the key has number %d and that of the gateway %d: the test needs equal ones", id, number)
	}
	testkit.Must(t, ask(own, ""))
	testkit.Must(t, ask(gateway, "ben"))
	err = ask(gateway, "ada")
	if p := edge.ProblemOf(err); p.Code != fault.RateLimited || p.GetHeaders().Get("Retry-After") != "2" {
		t.Errorf("%v, %v", err, p.GetHeaders())
	}
}

func TestOperatorsAreAdmittedByTheirKeysOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, _ := b.key(b.db.A, access.Admin)
	key, made, err := b.Keys.CreateOperator(t.Context(), "test", []access.Scope{access.Codec}, nil)
	testkit.Must(t, err)
	ctx, o, err := b.AdmitOperator(b.request(key), "", access.Codec)
	testkit.Must(t, err)
	if a := audit.From(ctx); a.Kind != audit.Operator || a.KeyID != made.ID || o.Key != made.ID ||
		a.Request != "req-1" {
		t.Errorf("%+v, %+v", a, o)
	}
	for what, c := range map[string]struct {
		key   string
		scope access.Scope
		code  fault.Code
	}{"a workspace": {own, access.Codec, fault.Unauthenticated}, "no key": {"", access.Codec, fault.Unauthenticated},
		"another scope": {key, access.Metrics, fault.OutOfScope}} {
		if _, _, err := b.AdmitOperator(b.request(c.key), "", c.scope); err == nil ||
			edge.ProblemOf(err).Code != c.code {
			t.Errorf("%s: %v", what, err)
		}
	}
}
