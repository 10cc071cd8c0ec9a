package mem0api

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/gateway/edge"
)

// call is one request of a mem0 client.
type call struct {
	*api
	r    *http.Request
	from access.Principal
	body []byte

	ignored []string // options that had no effect
}

// serve serves one request in the form of mem0, also for errors: {"detail": …}. The log
// entry of a failure contains the ID in X-Request-ID.
func (a *api) serve(w http.ResponseWriter, r *http.Request, route route) {
	id := cmp.Or(audit.From(r.Context()).Request, rand.Text())
	w.Header().Set("X-Request-ID", id)
	c := &call{api: a, r: r}
	out, err := c.answered(route)
	if err == nil {
		edge.WriteJSON(w, max(route.status, http.StatusOK), c.ignoring(w, out))
		return
	}
	p := a.edge.Refuse(r.Context(), "mem0 "+route.pattern+" "+id, err)
	body := map[string]any{"detail": p.Message, "code": p.Code, "hint": p.Hint}
	status := p.GetStatus()
	if upstream := upstreams[p.Code]; upstream != "" {
		status, body["code"], body["request_id"] = http.StatusBadGateway, upstream, id
	}
	p.WriteAs(w, status, body)
}

// upstreams maps error codes to mem0's codes for failures behind the server.
var upstreams = map[fault.Code]string{
	fault.ModelAuth: "provider_auth_failed", fault.ModelRejected: "provider_bad_request",
	fault.ModelRefused: "provider_bad_request", fault.ModelContext: "provider_bad_request",
	fault.ModelInvalid: "provider_unavailable", fault.Unavailable: "datastore_unavailable",
}

func (c *call) answered(route route) (any, error) {
	if route.scope != "" {
		ctx, err := c.edge.Admit(c.r, edge.Terms{Scope: route.scope, Key: c.key()})
		if err != nil {
			return nil, err
		}
		c.r, c.from = c.r.WithContext(ctx), edge.Caller(ctx)
	}
	var err error
	if c.body, err = io.ReadAll(c.r.Body); err != nil {
		return nil, err
	}
	return route.answer(c)
}

// key returns the key in the headers of mem0's clients, empty if it can only be a bearer token.
func (c *call) key() string {
	if key := strings.TrimSpace(c.r.Header.Get("X-API-Key")); key != "" {
		return key
	}
	if scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Token") {
		return strings.TrimSpace(key)
	}
	return ""
}

// read decodes the body and ignores unknown members.
func (c *call) read(into any) error {
	if len(c.body) == 0 {
		return nil
	}
	release, err := decoding.Begin(c.r.Context(), len(c.body))
	if err != nil {
		return err
	}
	defer release()
	var typed *json.UnmarshalTypeError
	if err := json.Unmarshal(c.body, into); errors.As(err, &typed) {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid type of %s: %s", typed.Field, typed.Value), "")
	} else if err != nil {
		return fault.New(fault.InvalidArgument, "invalid JSON in the body: "+err.Error(), "")
	}
	return nil
}

// selfHosted reports whether the route is one of mem0's self-hosted server.
func (c *call) selfHosted() bool {
	path := strings.TrimPrefix(c.r.URL.Path, "/mem0")
	return !strings.HasPrefix(path, "/v") && !strings.HasPrefix(path, "/api/")
}

// person returns the holder of the key as the user.
func (c *call) person() agent.Actor {
	return edge.Actor(c.r.Context(), c.r.Header.Get("Idempotency-Key"))
}

// entity identifies the owner of memories in mem0.
type entity struct {
	User  string `json:"user_id,omitempty"`
	Agent string `json:"agent_id,omitempty"`
	App   string `json:"app_id,omitempty"`
	Run   string `json:"run_id,omitempty"`
}

// named returns the field of a kind: user, agent, app or run.
func (e *entity) named(kind string) *string {
	return map[string]*string{"user": &e.User, "agent": &e.Agent, "app": &e.App,
		"run": &e.Run}[strings.TrimSuffix(kind, "_id")]
}

var entityKinds = []string{"user", "agent", "app", "run"}

func (e entity) none() bool { return e == entity{} }

// check brings the IDs into the form in which they are stored and compared: in NFC, otherwise
// unchanged. It refuses IDs that could not be stored as they are.
func (e *entity) check() error {
	if e.none() {
		return noEntity
	}
	for _, kind := range entityKinds {
		id := e.named(kind)
		*id = norm.NFC.String(*id)
		if strings.ContainsFunc(*id, unicode.IsControl) || *id != "" && strings.TrimSpace(*id) == "" {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s_id %.40q", kind, *id),
				"use an ID of printable characters")
		}
	}
	return nil
}

// orNothing returns null for an empty text.
func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// target returns the memory target of an entity. A user's memories are personal, an
// agent's are procedural. An app or a run without a user or agent is a personal target
// with its name.
func (e entity) target() memory.Task {
	switch {
	case e.User != "":
		return memory.Task{Type: memory.Personal, Target: e.User}
	case e.Agent != "":
		return memory.Task{Type: memory.Procedural, Target: e.Agent}
	}
	return memory.Task{Type: memory.Personal, Target: cmp.Or(e.App, e.Run)}
}

var noEntity = fault.New(fault.InvalidArgument,
	"At least one identifier (user_id, agent_id, app_id, run_id) is required.", "")

// mem0Facts is the metadata member that stores mem0's fields of an entry.
const mem0Facts = "mem0"

// facts holds mem0's fields of a memory, except for the text.
type facts struct {
	entity
	Expires  string `json:"expiration_date,omitempty"`
	Role     string `json:"role,omitempty"`
	Feedback string `json:"feedback,omitempty"` // POSITIVE, NEGATIVE or VERY_NEGATIVE
	Reason   string `json:"feedback_reason,omitempty"`

	Categories []string `json:"categories,omitempty"`
	// At replaces the time of the memory, in Unix seconds.
	At *float64 `json:"timestamp,omitempty"`
}

// stamp adds the facts to the caller's metadata.
func (f facts) stamp(metadata memory.Metadata) memory.Metadata {
	out := memory.Metadata{}.With(metadata)
	raw, _ := json.Marshal(f) // marshaling strings cannot fail
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
	if out.none() { // created outside of mem0
		switch e.Type {
		case memory.Personal:
			out.User = e.Target
		case memory.Procedural:
			out.Agent = e.Target
		}
	}
	return out
}

// mem0Types are the types of memories that mem0 clients see.
var mem0Types = []memory.Type{memory.Personal, memory.Procedural}
