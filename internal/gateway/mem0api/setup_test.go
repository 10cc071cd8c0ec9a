package mem0api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/mem0api"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/service/inspect"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

type object = map[string]any

// bundle serves the routes from a new database, with a key that has all scopes.
type bundle struct {
	*pgtest.Store
	server   *httptest.Server
	keys     *apikey.Service
	longTerm *memories.LongTermService
	key      string
	agent    func(run.Ref) // replaces the workflow of a session; nil leaves the run accepted
	actors   []audit.Actor // who started sessions
	t        *testing.T
}

func setup(t *testing.T, change ...func(*mem0api.Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, Store: pgtest.Open(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	finder := search.Finder{Index: b.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35, VectorShare: 0.1}
	b.keys = &apikey.Service{Ports: apikey.Ports{Store: b.Keys(), Operators: b.OperatorKeys()}}
	b.longTerm = &memories.LongTermService{Ports: memories.Ports{Store: b.Store.Store, Embedder: embedder, Space: space,
		Finder: finder}}
	s := mem0api.Services{Keys: b.keys, Runs: &inspect.Runs{RunPorts: inspect.RunPorts{Store: b.Store.Store}},
		Finder: finder, Embedder: embedder,
		Workspaces: &inspect.Workspaces{WorkspacePorts: inspect.WorkspacePorts{Store: b.Workspaces(),
			Check: func(settings.LongTerm) error { return nil }}},
		LongTerm: b.longTerm,
		Memory: &memories.PromptService{PromptPorts: memories.PromptPorts{Store: b.Store.Store, Embedder: embedder,
			Space:  space,
			Finder: finder}},
		Progressive: &memoryagent.Service{Ports: memoryagent.Ports{Store: b.Store.Store, LongTerm: b.longTerm,
			Starter:  starter{b},
			Registry: memoryagent.NewRegistry()}},
		Await: func(_ context.Context, _ run.Ref, _ time.Duration, look func() (run.Status, error)) (run.Status,
			error) {
			return look()
		}}
	o := mem0api.Options{Model: "scripted", BaseURL: "https://cairn.example",
		TurnSpec: func() agentrun.Spec { return agentrun.Spec{Model: "scripted"} }}
	for _, f := range change {
		f(&o)
	}
	mux := http.NewServeMux()
	mem0api.Mount(mux, s, o, edge.New(edge.Options{Log: slog.New(slog.DiscardHandler), Keys: b.keys,
		People:  &channel.Service{Ports: channel.Ports{Store: b.Channels(), Workspaces: b.Store.Store}},
		Closing: t.Context()}))
	b.server = httptest.NewServer(mux)
	t.Cleanup(b.server.Close)
	b.key = b.makeKey(b.A, access.Admin)
	return b
}

func (b *bundle) makeKey(ws access.Workspace, scopes ...access.Scope) string {
	b.t.Helper()
	key, _, err := b.keys.Create(b.t.Context(), ws.ID, "test", scopes)
	testkit.Must(b.t, err)
	return key
}

// starter replaces Temporal and runs work at once.
type starter struct{ b *bundle }

func (s starter) Start(ctx context.Context, _, _ string, r run.Run) error {
	s.b.actors = append(s.b.actors, audit.From(ctx))
	if s.b.agent != nil {
		s.b.agent(r.Ref)
	}
	return nil
}

func (starter) Ended(context.Context, string) error { return nil }

// ends ends the run of a session with a result of its agent.
func (b *bundle) ends(ref run.Ref, e run.Result, tasks ...memoryagent.Task) {
	b.t.Helper()
	b.reports(ref, e, memoryagent.Summary{Tasks: tasks})
}

// reports ends the run of a session with a result of its agent and a report.
func (b *bundle) reports(ref run.Ref, e run.Result, report memoryagent.Summary) {
	b.t.Helper()
	raw, err := json.Marshal(report)
	testkit.Must(b.t, err)
	e.Report = raw
	outcome := run.Completed
	if e.Status == memoryagent.Failed {
		outcome = run.Failed
	}
	testkit.Must(b.t, b.InWorkspace(b.t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		return tx.Runs().EndRun(ctx, ref.Run, outcome, e.Detail, e)
	}))
}

// remembers is an agent that adds one memory of a user in a session.
func (b *bundle) remembers(user, content string) func(run.Ref) {
	return func(ref run.Ref) {
		who := b.User()
		who.Subject = agent.MemoryScope{Type: string(memory.Personal), Target: user}
		items, err := b.longTerm.AddMemories(b.t.Context(), who, []memories.NewMemory{{Content: content}})
		testkit.Must(b.t, err)
		b.ends(ref, run.Result{Reason: agent.Final, Status: memoryagent.OK},
			memoryagent.Task{SpecialistReport: memoryagent.SpecialistReport{Added: []string{items[0].ID}}})
	}
}

// client sends requests below a mount with a key.
type client struct {
	b      *bundle
	mount  string
	header map[string]string
}

// client returns a client with the bundle's key.
func (b *bundle) client() client { return b.as(b.key) }

func (b *bundle) as(key string) client {
	return client{b, "/mem0", map[string]string{"Authorization": "Token " + key}}
}

// with returns the client with an additional header.
func (c client) with(name, value string) client {
	header := map[string]string{name: value}
	for k, v := range c.header {
		header[k] = v
	}
	c.header = header
	return c
}

type response struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
}

// do sends a request. It sends a string unchanged and other values as JSON.
func (c client) do(method, path string, body any) response {
	c.b.t.Helper()
	var sent io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(v)
	default:
		raw, err := json.Marshal(v)
		testkit.Must(c.b.t, err)
		sent = strings.NewReader(string(raw))
	}
	r, err := http.NewRequestWithContext(c.b.t.Context(), method, c.b.server.URL+c.mount+path, sent)
	testkit.Must(c.b.t, err)
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	testkit.Must(c.b.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	testkit.Must(c.b.t, err)
	return response{c.b.t, method + " " + path, res.StatusCode, res.Header, raw}
}

// into decodes a response, which must be a success.
func (r response) into(v any) {
	r.t.Helper()
	if r.status >= http.StatusBadRequest {
		r.t.Fatalf("%s: status %d: %s", r.what, r.status, r.body)
	}
	testkit.Must(r.t, json.Unmarshal(r.body, v))
}

// refused checks that a response is an error in the form of mem0.
func (r response) refused(status int) (out struct {
	Detail, Code, Hint string
	RequestID          string `json:"request_id"`
}) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, &out); err != nil || r.status != status || out.Detail == "" || out.Code == "" ||
		out.Hint == "" || r.header.Get("X-Request-ID") == "" {
		r.t.Errorf("%s: status %d, want %d with detail, code and hint: %s", r.what, r.status, status, r.body)
	}
	return out
}

// entry is a memory as the clients read it.
type entry struct {
	ID, Memory, Hash, Event, Role string
	User                          string `json:"user_id"`
	Agent                         string `json:"agent_id"`
	App                           string `json:"app_id"`
	Run                           string `json:"run_id"`
	Expires                       string `json:"expiration_date"`
	Score                         float64
	Metadata                      map[string]any
}

type results struct {
	Results  []entry
	Count    int
	Next     *string
	Previous *string
	Status   string
	Event    string `json:"event_id"`
}

// texts returns the texts of the results in their order.
func (r results) texts() string {
	var out []string
	for _, e := range r.Results {
		out = append(out, e.Memory)
	}
	return strings.Join(out, "|")
}

// adds stores a text without a model and returns its ID.
func (c client) adds(text string, more object) string {
	c.b.t.Helper()
	body := object{"messages": text, "infer": false}
	for k, v := range more {
		body[k] = v
	}
	var out results
	if c.do(http.MethodPost, "/memories", body).into(&out); len(out.Results) != 1 {
		c.b.t.Fatalf("added %+v", out)
	}
	return out.Results[0].ID
}

// lists returns the texts of the memories that a URL query selects.
func (c client) lists(query string) string {
	c.b.t.Helper()
	var out results
	c.do(http.MethodGet, "/memories?"+query, nil).into(&out)
	return out.texts()
}
