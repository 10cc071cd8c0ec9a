package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/gateway/prometheus"
	"cairn/internal/testkit"
)

// Keys of workspaces and of operators do not replace each other, whatever their scopes.
func TestOperatorsAndWorkspacesHaveDifferentDoors(t *testing.T) {
	t.Parallel()
	b := idle(t, encrypting, func(c *config.Config) { c.RateLimit = 0 })
	all := b.operatorKey(access.Codec, access.Metrics, access.Support)
	for _, path := range []string{"/v1/skills", "/v1/settings", "/v1/memories/dump"} {
		b.do(request{path: path, key: all}).refused(fault.Unauthenticated)
	}
	decode := request{method: http.MethodPost, path: httpapi.CodecPath + "/decode", body: `{"payloads":[]}`}
	if p := b.do(decode).refused(fault.Unauthenticated); !strings.Contains(p.Hint, "--operator --scopes codec") {
		t.Errorf("an admin of a workspace is told %q", p.Hint)
	}
	for _, scope := range []access.Scope{access.Metrics, access.Support} {
		decode.key = b.operatorKey(scope)
		b.do(decode).refused(fault.OutOfScope)
	}
	decode.key = all
	b.do(decode).into(http.StatusOK, nil)
}

func TestMetricsNeedAnOperatorKey(t *testing.T) {
	t.Parallel()
	b := idle(t) // with the default of CAIRN_METRICS
	server := httptest.NewServer(b.App.Gateway(prometheus.New(b.Store)))
	t.Cleanup(server.Close)
	b.url = server.URL
	b.get("/metrics").refused(fault.Unauthenticated)
	b.do(request{path: "/metrics", header: map[string]string{"Authorization": ""}}).refused(fault.Unauthenticated)
	b.do(request{path: "/metrics", key: b.operatorKey(access.Codec)}).refused(fault.OutOfScope)
	shown := b.do(request{path: "/metrics", key: b.operatorKey(access.Metrics)})
	if shown.status != http.StatusOK || !strings.Contains(string(shown.body), "cairn_database_up 1") {
		t.Errorf("an operator reads %d %s", shown.status, shown.body)
	}
}

// Nothing that a caller sees distinguishes keys that are unknown, revoked and expired.
func TestRefusedKeysLookAlike(t *testing.T) {
	t.Parallel()
	b := idle(t, encrypting)
	end := time.Now().Add(time.Hour)
	made := func(name string) (key string, id int64) {
		key, k, err := b.gateway.Keys.CreateUntil(t.Context(), b.Workspace.ID, name, []access.Scope{access.Admin}, &end)
		testkit.Must(t, err)
		return key, k.ID
	}
	revoked, id := made("revoked")
	testkit.Must(t, b.gateway.Keys.Revoke(t.Context(), b.Workspace.ID, id))
	expired, id := made("expired")
	b.admin("update cairn.api_keys set expires_at = now() where id = $1", id)
	unknown := "cairn_" + strings.Repeat("A", len(revoked)-len("cairn_"))
	first := b.do(request{path: "/v1/skills", key: unknown})
	first.refused(fault.Unauthenticated)
	for _, key := range []string{revoked, expired, "sk-1234", b.operatorKey(access.Support)} {
		if r := b.do(request{path: "/v1/skills", key: key}); !bytes.Equal(r.body, first.body) ||
			r.status != first.status || r.header.Get("WWW-Authenticate") != first.header.Get("WWW-Authenticate") {
			t.Errorf("%d %s, and an unknown key gets %d %s", r.status, r.body, first.status, first.body)
		}
	}
}
