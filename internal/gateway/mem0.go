package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"cairn/internal/agent"
	"cairn/internal/fault"
	"cairn/internal/memory"
	"cairn/internal/remember"
	"cairn/internal/store"
)

// Clients of mem0 speak to a workspace as they speak to a mem0 server: the
// routes of its self-hosted server, and those of its platform that its clients
// use. The workspace is the key's; what mem0 calls user_id, agent_id and run_id
// is data: whom a memory is about, and members of its metadata.

// mem0Route is a route under a prefix of each mount.
type mem0Route struct {
	pattern string
	scope   Scope
	answer  func(*mem0Call) (any, error)
}

// mem0Call is one request of a mem0 client.
type mem0Call struct {
	*Gateway
	r    *http.Request
	from store.Holder
	body []byte
}

func (g *Gateway) mem0Routes() {
	mounts := []string{"/mem0"}
	if g.Config.Mem0Compat == "root" {
		mounts = append(mounts, "")
	}
	for _, mount := range mounts {
		for _, r := range mem0Table {
			method, path, _ := strings.Cut(r.pattern, " ")
			g.mux.HandleFunc(method+" "+mount+path, func(w http.ResponseWriter, req *http.Request) { g.mem0(w, req, r) })
		}
	}
}

var mem0Table = []mem0Route{
	{"POST /memories", Write, (*mem0Call).add},
	{"GET /memories", Read, (*mem0Call).getAll},
	{"DELETE /memories", Admin, (*mem0Call).deleteAll},
	{"GET /memories/{id}", Read, (*mem0Call).get},
	{"PUT /memories/{id}", Write, (*mem0Call).update},
	{"DELETE /memories/{id}", Write, (*mem0Call).remove},
	{"GET /memories/{id}/history", Read, (*mem0Call).history},
	{"POST /search", Read, (*mem0Call).search},
	{"POST /reset", Admin, (*mem0Call).reset},
	{"GET /configure", Read, (*mem0Call).configuration},
	{"POST /configure", Admin, (*mem0Call).configure},
	{"GET /configure/providers", Read, (*mem0Call).providers},
	{"GET /entities", Read, (*mem0Call).entities},

	{"POST /v3/memories/add/{$}", Write, (*mem0Call).addLater},
	{"POST /v3/memories/search/{$}", Read, (*mem0Call).search},
	{"POST /v3/memories/{$}", Read, (*mem0Call).getAll},
	{"GET /v1/memories/{id}/{$}", Read, (*mem0Call).get},
	{"PUT /v1/memories/{id}/{$}", Write, (*mem0Call).update},
	{"DELETE /v1/memories/{id}/{$}", Write, (*mem0Call).remove},
	{"GET /v1/memories/{id}/history/{$}", Read, (*mem0Call).history},
	{"DELETE /v1/memories/{$}", Admin, (*mem0Call).deleteAll},
	{"GET /v1/event/{id}/{$}", Read, (*mem0Call).event},
	{"GET /v1/entities/{$}", Read, (*mem0Call).entities},
	{"GET /v1/ping/{$}", Read, (*mem0Call).ping},
}

// mem0 answers one request in the form that mem0's clients know, errors too:
// {"detail": …}.
func (g *Gateway) mem0(w http.ResponseWriter, r *http.Request, route mem0Route) {
	refuse := func(p *Problem) {
		for name := range p.header {
			w.Header().Set(name, p.header.Get(name))
		}
		answerJSON(w, p.status, map[string]any{"detail": p.Message, "code": p.Code, "hint": p.Hint})
	}
	keyed := r.Clone(r.Context())
	if key := r.Header.Get("X-API-Key"); key != "" {
		keyed.Header.Set("Authorization", "Bearer "+key)
	} else if scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Token") {
		keyed.Header.Set("Authorization", "Bearer "+key)
	}
	from, refused := g.authorize(keyed, route.scope)
	if refused != nil {
		refuse(refused)
		return
	}
	body, err := io.ReadAll(r.Body)
	var out any
	if err == nil {
		out, err = route.answer(&mem0Call{Gateway: g, r: r, from: from, body: body})
	}
	if err != nil {
		refuse(g.told(r.Context(), "mem0 "+route.pattern, err))
		return
	}
	answerJSON(w, http.StatusOK, out)
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who does not read it has gone
}

// read decodes the body; members that Cairn does not know are not heard.
func (c *mem0Call) read(into any) error {
	if len(c.body) == 0 {
		return nil
	}
	var typed *json.UnmarshalTypeError
	if err := json.Unmarshal(c.body, into); errors.As(err, &typed) {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is a %s", typed.Field, typed.Value), "")
	} else if err != nil {
		return fault.New(fault.InvalidArgument, "the body is no JSON: "+err.Error(), "")
	}
	return nil
}

// person is who holds the key.
func (c *mem0Call) person() agent.Actor {
	return agent.Actor{Workspace: c.from.Workspace.ID, Origin: agent.OriginUser, Op: operation("key", c.r.Header.Get("Idempotency-Key"))}
}

// entity is whom mem0 keeps memories for.
type entity struct {
	User  string `json:"user_id,omitempty"`
	Agent string `json:"agent_id,omitempty"`
	Run   string `json:"run_id,omitempty"`
}

func (e entity) none() bool { return e == entity{} }

// target is where the memories of an entity lie: a user's are facts about a
// person, an agent's are how things are done, a run of nobody is a person that
// has its name.
func (e entity) target() memory.Task {
	switch {
	case e.User != "":
		return memory.Task{Type: memory.Personal, Target: e.User}
	case e.Agent != "":
		return memory.Task{Type: memory.Procedural, Target: e.Agent}
	}
	return memory.Task{Type: memory.Personal, Target: e.Run}
}

var noEntity = fault.New(fault.InvalidArgument, "At least one identifier (user_id, agent_id, run_id) is required.", "")

// mem0Facts is the member of the metadata under which an entry keeps what mem0
// says of it.
const mem0Facts = "mem0"

// facts are what mem0 says of a memory beside its text.
type facts struct {
	entity
	Expires string `json:"expiration_date,omitempty"`
	Role    string `json:"role,omitempty"`
}

// stamp adds the facts to the caller's metadata.
func (f facts) stamp(metadata memory.Metadata) memory.Metadata {
	out := memory.Metadata{}.With(metadata)
	raw, _ := json.Marshal(f) // texts
	var plain map[string]any
	_ = json.Unmarshal(raw, &plain)
	out[mem0Facts] = plain
	return out
}

func factsOf(e memory.Entry) (out facts) {
	if held, ok := e.Metadata[mem0Facts]; ok {
		raw, _ := json.Marshal(held)
		_ = json.Unmarshal(raw, &out)
	}
	if out.none() { // it was remembered by another way
		switch e.Type {
		case memory.Personal:
			out.User = e.Target
		case memory.Procedural:
			out.Agent = e.Target
		}
	}
	return out
}

// mem0Types are the types of memories that mem0's clients see.
var mem0Types = []memory.Type{memory.Personal, memory.Procedural}

func (c *mem0Call) configuration() (any, error) {
	return map[string]any{"version": "v1.1", "vector_store": map[string]any{"provider": "pgvector"}, "llm": map[string]any{"provider": "openai", "config": map[string]any{"model": c.Config.Model}},
		"embedder": map[string]any{"provider": "openai", "config": map[string]any{"model": c.Embedder.Model(), "embedding_dims": c.Embedder.Dims()}}}, nil
}

func (c *mem0Call) configure() (any, error) {
	return nil, fault.New(fault.OutOfScope, "models and stores are configured by whoever runs Cairn, for all workspaces", "set them in the environment, see `cairn config`; PATCH /v1/settings changes a workspace")
}

func (c *mem0Call) providers() (any, error) {
	return map[string]any{"llm": []string{"openai"}, "embedder": []string{"openai"}, "vector_store": []string{"pgvector"}}, nil
}

func (c *mem0Call) ping() (any, error) {
	return map[string]any{"status": "ok", "org_id": nil, "project_id": c.from.Workspace.Name, "user_email": nil}, nil
}

// entities are the targets, as mem0 calls them.
func (c *mem0Call) entities() (any, error) {
	meta, err := c.LongTerm.ReadMeta(c.r.Context(), c.person(), remember.MetaArgs{})
	out := []map[string]any{}
	for _, t := range meta.Targets {
		kind := "user"
		if t.Type == memory.Procedural {
			kind = "agent"
		}
		out = append(out, map[string]any{"id": t.Display, "name": t.Display, "type": kind, "created_at": t.CreatedAt, "updated_at": t.LastUsedAt})
	}
	return map[string]any{"results": out, "count": len(out)}, err
}
