package library_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/objectstore"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/library"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bundle is a library behind its tools, over a fresh database.
type bundle struct {
	*library.Library
	t     *testing.T
	store *store.Store
	admin *pgxpool.Pool // superuser: sees everything
	tools *tools.Registry
	ws    access.Workspace
	ops   atomic.Int64
}

func setup(t *testing.T, change ...func(*library.Settings)) *bundle {
	t.Helper()
	b := &bundle{t: t}
	url := pgtest.Database(t)
	var err error
	b.store, err = store.Open(t.Context(), url, store.Options{MaxConns: 8})
	testkit.Must(t, err)
	t.Cleanup(b.store.Close)
	c, err := pgxpool.ParseConfig(url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	b.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(b.admin.Close)
	b.ws, err = b.store.Workspace(t.Context(), "test", true)
	testkit.Must(t, err)
	packages, err := objectstore.Local(t.TempDir())
	testkit.Must(t, err)
	embedder := embedding.Hashing(0)
	space, err := b.store.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	s := library.DefaultSettings()
	for _, f := range change {
		f(&s)
	}
	b.Library = &library.Library{Ports: library.Ports{Store: b.store, Embedder: embedder, Space: space,
		Blobs:    packages,
		Finder:   search.Finder{Index: b.store.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35},
		Settings: func(context.Context, int64) (library.Settings, error) { return s, nil }}}
	all, err := tools.Skills(b.Library)
	testkit.Must(t, err)
	steps, err := tools.Disclosure(b.Library)
	testkit.Must(t, err)
	b.tools, err = tools.NewRegistry(append(all, steps...)...)
	testkit.Must(t, err)
	return b
}

// as is an actor of a run of its own.
func (b *bundle) as(o agent.Origin) agent.Actor {
	b.t.Helper()
	a := agent.Actor{Workspace: b.ws.ID, Origin: o, Run: run.NewID()}
	_, err := b.admin.Exec(b.t.Context(),
		`insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id)
values ($1, $2, 'distill', gen_random_uuid()::text, sha256('x'), '{}', 'w')`, b.ws.ID, a.Run)
	testkit.Must(b.t, err)
	return a
}

type object = map[string]any

// call calls a tool under an operation id of its own, and wants an answer.
func (b *bundle) call(a agent.Actor, tool string, args object) object {
	b.t.Helper()
	if a.Op == "" {
		a.Op = fmt.Sprintf("%s/test/%d", a.Run, b.ops.Add(1))
	}
	r, err := b.tools.Call(b.t.Context(), a, tool, raw(b.t, args))
	testkit.Must(b.t, err)
	var out object
	testkit.Must(b.t, json.Unmarshal(r.JSON, &out))
	return out
}

// does wants a call to succeed with an action and a version; 0 is any.
func (b *bundle) does(a agent.Actor, tool string, args object, action string, version int) object {
	b.t.Helper()
	out := b.call(a, tool, args)
	if out["ok"] != true || out["action"] != action || version != 0 && out["version"] != float64(version) {
		b.t.Fatalf("%s: got %v, want %s in version %d", tool, out, action, version)
	}
	return out
}

// refused wants a call to fail with a code, a message and a hint, and returns
// the error.
func (b *bundle) refused(a agent.Actor, tool string, args object, code fault.Code) object {
	b.t.Helper()
	out := b.call(a, tool, args)
	e, _ := out["error"].(object)
	if out["ok"] != false || e["code"] != string(code) || e["message"] == "" || e["hint"] == "" {
		b.t.Fatalf("%s: got %v, want %s", tool, out, code)
	}
	return e
}

// number is what the superuser reads.
func (b *bundle) number(sql string, args ...any) (n int) {
	b.t.Helper()
	testkit.Must(b.t, b.admin.QueryRow(b.t.Context(), sql, args...).Scan(&n))
	return n
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.admin.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// body is a skill of the four headings; its steps make it differ from others.
func body(steps ...string) string {
	out := "## When to Use\nWhen a service is about to be released.\n\n## Procedure\n"
	for i, s := range steps {
		out += fmt.Sprintf("%d. %s\n", i+1, s)
	}
	return out + "\n## Pitfalls\n- Releasing on a Friday evening.\n\n## Verification\n- The health page answers.\n"
}

// deploy are the arguments of a save.
func deploy(change ...func(object)) object {
	args := object{"name": "deploy-web", "description": "Deploys the web service step by step",
		"content": body("Build the image", "Roll it out", "Watch the error rate")}
	for _, f := range change {
		f(args)
	}
	return args
}

func with(key string, value any) func(object) { return func(o object) { o[key] = value } }

// column joins what the superuser reads, row by row.
func (b *bundle) column(sql string, args ...any) string {
	b.t.Helper()
	var out *string
	testkit.Must(b.t, b.admin.QueryRow(b.t.Context(), "select string_agg(x, ',') from ("+sql+") q(x)", args...).
		Scan(&out))
	if out == nil {
		return ""
	}
	return *out
}

func raw(t *testing.T, args object) json.RawMessage {
	t.Helper()
	out, err := json.Marshal(args)
	testkit.Must(t, err)
	return out
}

// changes returns the pending changes.
func (b *bundle) changes() (out []skill.Pending) {
	b.t.Helper()
	const most = 10
	proposals, err := b.Proposals(b.t.Context(), b.ws.ID, most)
	testkit.Must(b.t, err)
	for _, p := range proposals {
		if p.Change != nil {
			out = append(out, *p.Change)
		}
	}
	return out
}
