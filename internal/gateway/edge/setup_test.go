package edge_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/gateway/edge"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// bundle is an edge over a new database.
type bundle struct {
	*edge.Edge
	db *pgtest.Store
	t  *testing.T
}

func setup(t *testing.T, change ...func(*edge.Options)) *bundle {
	t.Helper()
	db := pgtest.Open(t)
	o := edge.Options{Log: slog.New(slog.DiscardHandler), Closing: t.Context(),
		Keys:   &apikey.Service{Ports: apikey.Ports{Store: db.Keys(), Operators: db.OperatorKeys()}},
		People: &channel.Service{Ports: channel.Ports{Store: db.Channels(), Workspaces: db.Store}}}
	for _, f := range change {
		f(&o)
	}
	t.Cleanup(o.Keys.Close)
	return &bundle{edge.New(o), db, t}
}

// key makes a key of a workspace.
func (b *bundle) key(ws access.Workspace, scopes ...access.Scope) (string, int64) {
	b.t.Helper()
	key, made, err := b.Keys.Create(b.t.Context(), ws.ID, "test", scopes)
	testkit.Must(b.t, err)
	return key, made.ID
}

// gatewayKey makes a key of a gateway.
func (b *bundle) gatewayKey(account string) (string, int64) {
	b.t.Helper()
	key, made, err := b.Keys.CreateGateway(b.t.Context(), account, account, nil)
	testkit.Must(b.t, err)
	return key, made.ID
}

// request returns a request with a key, in the context of a gateway.
func (b *bundle) request(key string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(audit.With(b.t.Context(), audit.Actor{Kind: audit.System, Request: "req-1",
		Address: "192.0.2.1"}), http.MethodPost, "/", nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// actor returns the actor of an admitted request.
func (b *bundle) actor(ctx context.Context, err error) audit.Actor {
	b.t.Helper()
	testkit.Must(b.t, err)
	return audit.From(ctx)
}
