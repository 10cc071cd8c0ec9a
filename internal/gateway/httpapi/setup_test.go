package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// noRun is the ID of a run that does not exist.
const noRun = "run_00000000000000000000000000"

// bundle is a gateway with all services, and a key that has all scopes.
type bundle struct {
	*apptest.Bundle
	gateway *httpapi.Gateway
	url     string
	key     string
}

func setup(t *testing.T, change ...func(*config.Config)) *bundle {
	t.Helper()
	b := idle(t, change...)
	b.Start()
	b.ScriptR1()
	return b
}

// idle is setup without workers: accepted runs stay accepted.
func idle(t *testing.T, change ...func(*config.Config)) *bundle {
	t.Helper()
	b := &bundle{Bundle: apptest.OpenIdle(t, change...)}
	b.gateway = b.App.Gateway(httpapi.NoMeter)
	server := httptest.NewServer(b.gateway)
	t.Cleanup(server.Close)
	b.url = server.URL
	b.key = b.makeKey(b.Workspace, access.Admin)
	return b
}

func (b *bundle) makeKey(ws access.Workspace, scopes ...access.Scope) string {
	b.T.Helper()
	key, _, err := b.gateway.Keys.Create(b.T.Context(), ws.ID, "test", scopes)
	testkit.Must(b.T, err)
	return key
}

// operatorKey makes a key of an operator.
func (b *bundle) operatorKey(scopes ...access.Scope) string {
	b.T.Helper()
	key, _, err := b.gateway.Keys.CreateOperator(b.T.Context(), "test", scopes, nil)
	testkit.Must(b.T, err)
	return key
}

// connect is a superuser's connection to the database.
func (b *bundle) connect() *pgx.Conn {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	b.T.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// admin runs a statement as the superuser.
func (b *bundle) admin(sql string, args ...any) {
	b.T.Helper()
	_, err := b.Admin().Exec(b.T.Context(), sql, args...)
	testkit.Must(b.T, err)
}

// request is one request. The zero values mean GET, the bundle's key and no body.
type request struct {
	method, path, key string
	body              any // strings and bytes are sent unchanged, other values as JSON
	header            map[string]string
}

type response struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (b *bundle) do(r request) response {
	b.T.Helper()
	var body io.Reader
	switch v := r.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(v)
	case []byte:
		body = bytes.NewReader(v)
	default:
		raw, err := json.Marshal(v)
		testkit.Must(b.T, err)
		body = bytes.NewReader(raw)
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(b.T.Context(), r.method, b.url+r.path, body)
	testkit.Must(b.T, err)
	if r.key == "" {
		r.key = b.key
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	testkit.Must(b.T, err)
	return response{b.T, res.StatusCode, res.Header, raw}
}

func (b *bundle) get(path string) response { b.T.Helper(); return b.do(request{path: path}) }

func (b *bundle) post(path string, body any) response {
	b.T.Helper()
	return b.do(request{method: http.MethodPost, path: path, body: body})
}

func (b *bundle) put(path string, body any) response {
	b.T.Helper()
	return b.do(request{method: http.MethodPut, path: path, body: body})
}

// into decodes a response, which must have the given status.
func (r response) into(status int, v any) {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if v != nil {
		if err := json.Unmarshal(r.body, v); err != nil {
			r.t.Fatalf("%v in %s", err, r.body)
		}
	}
}

// refused checks that a response is an error in the standard form with the status
// of its code.
func (r response) refused(code fault.Code) edge.Problem {
	r.t.Helper()
	var p edge.Problem
	if err := json.Unmarshal(r.body, &p); err != nil || p.Code != code || p.Message == "" || p.Hint == "" {
		r.t.Errorf("status %d, %v, want %s with message and hint: %s", r.status, err, code, r.body)
		return p
	}
	if row := fault.Table[code]; row.HTTP != r.status || row.Retryable != p.Retryable {
		r.t.Errorf("%s: status %d, retryable %t; the table says %d and %t", code, r.status, p.Retryable, row.HTTP,
			row.Retryable)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		r.t.Errorf("an error of type %q", got)
	}
	return p
}

// sampleConversation is C1 as a client sends it.
func sampleConversation() map[string]any {
	var messages []map[string]any
	for _, m := range apptest.C1().Messages {
		messages = append(messages, map[string]any{"role": m.Role, "content": m.Content})
	}
	return map[string]any{"messages": messages}
}

// distilled distills C1 and returns its skill.
func (b *bundle) distilled() skill.Head {
	b.T.Helper()
	var a httpapi.AcceptedRequest
	b.post("/v1/distill?wait=60&outcome=success", sampleConversation()).into(http.StatusOK, &a)
	if len(a.Report.Tasks) != 1 || a.Report.Tasks[0].SkillID == 0 {
		b.T.Fatalf("no skill: %+v", a.Report)
	}
	var head skill.Head
	b.get("/v1/skills/"+a.Report.Tasks[0].Skill).into(http.StatusOK, &head)
	return head
}

// decided approves or rejects an item of the inbox as it is now.
func (b *bundle) decided(item, verb string) (out httpapi.InboxOutcome) {
	b.T.Helper()
	b.post("/v1/inbox/"+item+"/"+verb, b.seen(item)).into(http.StatusOK, &out)
	return out
}

// seen returns the body of a decision about an item as it is now, or about one that is gone.
func (b *bundle) seen(item string) object {
	b.T.Helper()
	var d httpapi.InboxDetail
	if res := b.get("/v1/inbox/" + item); res.status == http.StatusOK {
		res.into(http.StatusOK, &d)
	}
	return object{"sha": cmp.Or(d.SHA, "000000000000")}
}

// inboxIDs returns the IDs of the items of a kind, in the order of the list.
func (b *bundle) inboxIDs(kind string) (ids []string) {
	b.T.Helper()
	var list httpapi.InboxList
	b.get("/v1/inbox").into(http.StatusOK, &list)
	for _, i := range list.Items {
		if i.Kind == kind {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// requestOf is the SQL of a whole request in the ledger.
const requestOf = "cairn.request_of(workspace_id, conversation_id, request, parts)"
