package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app/config"
	"cairn/internal/testkit"
)

// hostile is a gateway behind a real listener, and what the tests of hostile requests share.
type hostile struct {
	*bundle
	document *document
	address  string
	archive  string
	state    string // statement that describes the rows of a workspace
	places   atomic.Int64
	shots    atomic.Int64
	fields   atomic.Int64
}

func openHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{bundle: idle(t, func(c *config.Config) {
		c.RateLimit, c.RequestBytes, c.TrustedProxies = 0, 1<<20, "127.0.0.0/8"
	}), document: readDocument(t)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.gateway.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-ended })
	h.address = l.Addr().String()
	h.archive, err = waterPlants()
	testkit.Must(t, err)
	h.state = h.stateQuery()
	return h
}

// unchecked are tables that may change although a request was refused.
var unchecked = map[string]string{
	"api_keys": "the time of the last use of a key",
	"outbox":   "tasks of accepted requests are delivered later",
}

// stateQuery returns a statement that counts the rows and adds up the versions of rows in each table of a
// workspace. Updates change it, too.
func (h *hostile) stateQuery() string {
	rows, err := h.Admin().Query(h.T.Context(), `select c.relname from pg_class c join pg_attribute a
		on a.attrelid = c.oid and a.attname = 'workspace_id' where c.relnamespace = 'cairn'::regnamespace
		and c.relkind in ('r', 'p') and not c.relispartition order by 1`)
	testkit.Must(h.T, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	testkit.Must(h.T, err)
	if len(tables) < 30 {
		h.T.Fatalf("only %d tables have workspaces", len(tables))
	}
	var parts []string
	for _, t := range tables {
		if unchecked[t] == "" {
			parts = append(parts, fmt.Sprintf(
				"select '%[1]s', count(*) || '/' || coalesce(sum(xmin::text::bigint), 0) "+
					"from cairn.%[1]s where workspace_id = $1",
				t,
			))
		}
	}
	return strings.Join(parts, " union all ")
}

// rows describes the rows of the workspace.
func (p *place) rows() map[string]string {
	rows, err := p.Admin().Query(p.t.Context(), p.state, p.workspace)
	testkit.Must(p.t, err)
	out := map[string]string{}
	var table, content string
	_, err = pgx.ForEachRow(rows, []any{&table, &content}, func() error { out[table] = content; return nil })
	testkit.Must(p.t, err)
	return out
}

// operations adds an operation for each tool to those of the document.
func (h *hostile) operations() []*operation {
	var out []*operation
	for _, op := range h.document.operations() {
		if op.ID != "callTool" {
			out = append(out, op)
			continue
		}
		var list struct {
			Tools []struct {
				Name  string
				Input *schema
			}
		}
		h.get("/v1/tools").into(http.StatusOK, &list)
		for _, tool := range list.Tools {
			call := *op
			call.tool, call.arguments = tool.Name, tool.Input
			out = append(out, &call)
		}
	}
	return out
}

// target returns the path of an operation, with a hostile value for one of its parameters.
func (p *place) target(op *operation, hostile *parameter, value string) string {
	path, query := op.path, []string{}
	for _, q := range op.Parameters {
		is := hostile != nil && q.In == hostile.In && q.Name == hostile.Name
		switch {
		case q.In == "path" && is:
			path = strings.ReplaceAll(path, "{"+q.Name+"}", escaped(q.In, value))
		case q.In == "path":
			path = strings.ReplaceAll(path, "{"+q.Name+"}", escaped(q.In, p.parameterValue(op, q.Name)))
		case q.In == "query" && is:
			query = append(query, q.Name+"="+escaped(q.In, value))
		case q.In == "query" && q.Name == "wait":
			query = append(query, "wait=0")
		case q.In == "query" && q.Name == "q":
			query = append(query, "q=tea")
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

// base is the request of an operation that a hostile value is put into.
func (p *place) base(op *operation) (shot, any) {
	s := shot{method: op.method, target: p.target(op, nil, ""), bodiless: len(op.Body.Content) == 0}
	if s.bodiless {
		s.header = p.headers("")
		return s, nil
	}
	kind := "application/json"
	if _, ok := op.Body.Content[kind]; !ok {
		kind = slices.Sorted(maps.Keys(op.Body.Content))[0]
	}
	s.header, s.body = p.headers(kind), []byte(sampleBodies[op.ID])
	var sample any
	if len(s.body) > 0 {
		if err := json.Unmarshal(s.body, &sample); err != nil {
			p.t.Fatalf("sample of %s: %v", op.ID, err)
		}
	}
	return s, sample
}

// perField is the number of values that each field gets. Which ones rotates from field to field. With
// CAIRN_HOSTILE=all, each field gets all of them, which takes some minutes.
const perField = 5

// some returns the values for the field with a number.
func some(field int, values []string) []string {
	if os.Getenv("CAIRN_HOSTILE") == "all" || len(values) <= perField {
		return values
	}
	var out []string
	for i := range perField {
		out = append(out, values[(field*perField+i)%len(values)])
	}
	return out
}

// each calls send with the hostile requests for an operation, one group after the other.
func (p *place) each(op *operation, send func(...shot)) {
	base, sample := p.base(op)
	send(base)
	for _, q := range op.Parameters {
		if q.In == "header" {
			continue
		}
		send(shots(p.some(textsFor(q)), base, func(s *shot, value string) { s.target = p.target(op, &q, value) })...)
	}
	p.eachTarget(base, send)
	p.eachHeader(op, base, send)
	if base.bodiless {
		return
	}
	without := base
	without.bodiless, without.body = true, nil
	send(without)
	for _, kind := range slices.Sorted(maps.Keys(op.Body.Content)) {
		send(shots(p.some(hostileBodies), base, func(s *shot, value string) {
			s.header, s.body = p.headers(kind), []byte(value)
		})...)
	}
	send(shots(p.some(hostileTypes), base, func(s *shot, value string) { s.header = p.headers(value) })...)
	content := op.Body.Content["application/json"].Schema
	if op.tool != "" {
		content = op.arguments
	}
	for _, f := range p.document.fields(content, sample, nil) {
		send(shots(p.some(valuesFor(f)), base, func(s *shot, value string) {
			s.body = put(sample, f.at, []byte(value))
		})...)
	}
}

// some returns the values for the next field.
func (p *place) some(values []string) []string { return some(int(p.fields.Add(1)), values) }

// shots returns a request for each value.
func shots(values []string, base shot, change func(*shot, string)) []shot {
	var out []shot
	for _, v := range values {
		s := base
		change(&s, v)
		out = append(out, s)
	}
	return out
}

// eachTarget sends hostile paths and queries.
func (p *place) eachTarget(base shot, send func(...shot)) {
	path, query, _ := strings.Cut(base.target, "?")
	send(shots(p.some([]string{
		path + "/",
		path + "//",
		path + "/..",
		path + "/%2e%2e/%2e%2e",
		path + "/" + strings.Repeat(
			"a/",
			2000,
		),
		path + "?" + strings.Repeat("a=1&", 5000),
		path + "?unknown=1&" + query,
		path + "?%00=%ff",
		path + "?=",
		path + "?;",
		path + "?a;b",
		path + "?%",
		path + "%00",
		path + "%ff",
		path + ";x=1",
		path + "#x",
		strings.ToUpper(path),
	}), base, func(s *shot, target string) { s.target = target })...)
	send(shots(p.some([]string{path + "%", path + "%zz", path + "\x01", path + "\xff", "x" + path, path + " x"}), base,
		func(s *shot, target string) { s.target, s.broken = target, true })...)
}

// eachHeader sends hostile headers: those that the operation reads, and those that all of them do.
func (p *place) eachHeader(op *operation, base shot, send func(...shot)) {
	names := []string{"Accept", "X-Request-Id"}
	for _, q := range op.Parameters {
		if q.In == "header" {
			names = append(names, q.Name)
		}
	}
	for _, name := range names {
		send(shots(p.some(hostileHeaders), base, func(s *shot, value string) {
			s.header = append(slices.Clone(base.header), [2]string{name, value})
			s.broken = strings.ContainsAny(value, "\x00\x01")
		})...)
	}
}

// fire sends requests and checks their responses, and that refused ones have not changed a row.
func (p *place) fire(op *operation, group ...shot) {
	t := p.t
	t.Helper()
	var refused []string
	for _, s := range group {
		s.body = p.next(s.body)
		p.shots.Add(1)
		status, header, body, err := p.wire.send(s)
		if err != nil {
			t.Errorf("no response: %v\n%s", err, s)
			continue
		}
		for _, found := range s.findings(status, header, body) {
			t.Errorf("%s\n%s\n%d %.500s", found, s, status, body)
		}
		if status < http.StatusBadRequest {
			refused, p.before = nil, nil
			continue
		}
		refused = append(refused, fmt.Sprintf("%s: %d %.300s", s, status, body))
	}
	if op.method == http.MethodGet {
		return
	}
	after := p.rows()
	for table, content := range p.before {
		if after[table] != content {
			t.Errorf("%s changed from %s to %s, but all was refused\n%s", table, content, after[table],
				strings.Join(refused, "\n"))
		}
	}
	p.before = after
}

// TestHostileValuesInEveryField sends hostile values for every parameter, header and field of a body of every
// operation in the OpenAPI document, and of every tool.
func TestHostileValuesInEveryField(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := openHostile(t)
	operations := h.operations()
	t.Run("operations", func(t *testing.T) {
		for _, op := range operations {
			name := strings.Trim(op.ID+" "+op.tool, " ")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := h.settle(t, name)
				defer func() { p.wire.close() }()
				p.before = p.rows()
				p.each(op, func(group ...shot) { p.fire(op, group...) })
			})
		}
	})
	t.Logf("%d requests for %d operations", h.shots.Load(), len(operations))
}

// TestAHostileValueForEveryOperation sends one hostile request for each operation; the field and the value differ
// from one to the next.
func TestAHostileValueForEveryOperation(t *testing.T) {
	t.Parallel()
	h := openHostile(t)
	p := h.settle(t, "one")
	defer func() { p.wire.close() }()
	p.before = p.rows()
	for i, op := range h.operations() {
		if op.ID == "eraseWorkspace" {
			continue // ends the workspace of the others
		}
		var all []shot
		p.each(op, func(group ...shot) { all = append(all, group...) })
		p.fire(op, all[1+i*7%(len(all)-1)]) // the first is the sample
	}
	if h.shots.Load() < 100 {
		t.Errorf("only %d requests", h.shots.Load())
	}
}
