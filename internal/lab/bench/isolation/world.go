package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/starter/client"
)

// world is one workspace with its expected content.
type world struct {
	*tally
	name    string
	key     string
	url     string
	random  *rand.Rand
	library *client.Client
	mcp     *mcp.ClientSession

	entries map[string]*entry // long-term memories by ID
	saved   []string          // prompt memories
	n       int
}

// entry is the expected state of a memory.
type entry struct {
	target, content string
	version         int
	gone            bool
}

func open(ctx context.Context, h *app.App, url string, n int, seed uint64, t *tally) (*world, error) {
	w := &world{tally: t, name: fmt.Sprintf("w%d", n), url: url, random: rand.New(rand.NewPCG(seed, uint64(n))),
		entries: map[string]*entry{}}
	ws, err := h.Store.Workspace(ctx, w.name, true)
	if err != nil {
		return nil, err
	}
	if w.key, _, err = h.Keys.Create(ctx, ws.ID, "isolation", []access.Scope{access.Write}); err != nil {
		return nil, err
	}
	if w.library, err = client.New(client.Config{URL: url, Key: w.key}); err != nil {
		return nil, err
	}
	speaker := mcp.NewClient(&mcp.Implementation{Name: "isolation", Version: "1"}, nil)
	w.mcp, err = speaker.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp?profile=all",
		HTTPClient: &http.Client{Transport: keyed(w.key)}, DisableStandaloneSSE: true}, nil)
	return w, err
}

func (w *world) close() {
	_ = w.mcp.Close() // there is no session to end
	_ = w.library.Close()
}

// keyed adds a key to every request.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

var targets = []string{"alice", "bob", "team"}

// step runs one random operation.
func (w *world) step(ctx context.Context) error {
	type action struct {
		weight int
		do     func(context.Context) error
	}
	actions := []action{{30, w.add}, {15, w.update}, {8, w.remove}, {10, w.get}, {10, w.foreign}, {12, w.retrieve},
		{10, w.search}, {8, w.tool}, {7, w.save}}
	at := w.random.IntN(110)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			return a.do(ctx)
		}
	}
	return w.add(ctx)
}

// sentence returns a sentence that all workspaces use, or a unique one.
func (w *world) sentence() string {
	if w.random.IntN(2) == 0 {
		return fmt.Sprintf("Shared fact %d: the meeting is in room %d.", w.random.IntN(40), w.random.IntN(3))
	}
	w.n++
	return fmt.Sprintf("Fact %d is known to %s alone: a kite of colour %d.", w.n, w.name, w.random.IntN(5))
}

func (w *world) saying(target, content string) (string, bool) {
	for id, e := range w.entries {
		if !e.gone && e.target == target && e.content == content {
			return id, true
		}
	}
	return "", false
}

// alive returns the ID of a random memory of the workspace, or "" if there is none.
func (w *world) alive() string {
	var ids []string
	for id, e := range w.entries {
		if !e.gone {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return ids[w.random.IntN(len(ids))]
}

// add adds a memory with the client or through mem0.
func (w *world) add(ctx context.Context) error {
	target, content := targets[w.random.IntN(len(targets))], w.sentence()
	known, there := w.saying(target, content)
	id := ""
	if w.random.IntN(3) == 0 {
		w.count("add with mem0", false)
		var out struct{ Results []struct{ ID, Event string } }
		status, err := w.http(ctx, http.MethodPost, "/mem0/memories",
			map[string]any{"messages": content, "user_id": target, "infer": false}, &out)
		if err != nil {
			return err
		}
		if status != http.StatusOK || len(out.Results) != 1 || (out.Results[0].Event == "NONE") != there {
			w.wrong(false, "%s adds with mem0: %d %+v, existed: %t", w.name, status, out, there)
			return nil
		}
		id = out.Results[0].ID
	} else {
		w.count("add with the client", false)
		made, err := w.library.Add(ctx, client.NewMemory{Type: "personal", Target: target, Content: content})
		if err != nil {
			return err
		}
		if len(made.IDs) != 1 || (made.Action == "already_exists") != there {
			w.wrong(false, "%s adds: %+v, existed: %t", w.name, made, there)
			return nil
		}
		id = made.IDs[0]
	}
	if there && id != known {
		w.wrong(w.stranger(id), "%s has %q as %s and gets %s", w.name, content, known, id)
		return nil
	}
	if !there {
		if owner, taken := w.strangers.LoadOrStore(id, w.name); taken {
			w.wrong(true, "%s gets %s, which belongs to %v", w.name, id, owner)
		}
		w.entries[id] = &entry{target: target, content: content, version: 1}
	}
	return nil
}

func (w *world) stranger(id string) bool {
	owner, known := w.strangers.Load(id)
	return known && owner != w.name
}

func (w *world) update(ctx context.Context) error {
	id := w.alive()
	if id == "" {
		return w.add(ctx)
	}
	w.count("update with the client", false)
	w.n++
	content := fmt.Sprintf("Changed %d times over: %s flies a kite.", w.n, w.entries[id].target)
	if _, err := w.library.Update(ctx, id, content); err != nil {
		return err
	}
	e := w.entries[id]
	e.content, e.version = content, e.version+1
	return nil
}

func (w *world) remove(ctx context.Context) error {
	id := w.alive()
	if id == "" {
		return w.add(ctx)
	}
	w.count("delete over HTTP", false)
	status, err := w.http(ctx, http.MethodDelete, "/v1/memories/"+id, nil, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		w.wrong(false, "%s deletes %s: %d", w.name, id, status)
	}
	e := w.entries[id]
	e.gone, e.version = true, e.version+1
	return nil
}

func (w *world) get(ctx context.Context) error {
	id := w.alive()
	if id == "" {
		return w.add(ctx)
	}
	w.count("get with the client", false)
	m, err := w.library.Get(ctx, id)
	if err != nil {
		return err
	}
	if e := w.entries[id]; m.Content != e.content || m.Version != e.version || m.Target != e.target {
		w.wrong(false, "%s gets %+v, the model has %+v", w.name, m, *e)
	}
	return nil
}

// foreign tries to access an object of another workspace in all ways.
func (w *world) foreign(ctx context.Context) error {
	id := ""
	w.strangers.Range(func(key, owner any) bool {
		if owner != w.name {
			id = key.(string)
		}
		return id == "" || w.random.IntN(4) > 0
	})
	if id == "" {
		return w.add(ctx)
	}
	var err error
	way := w.random.IntN(5)
	switch way {
	case 0:
		_, err = w.library.Get(ctx, id)
	case 1:
		_, err = w.library.Update(ctx, id, "Taken over by "+w.name)
	case 2:
		_, err = w.library.Delete(ctx, id)
	default:
		path := "/mem0/memories/" + id
		if way == 3 {
			path += "/history"
		}
		status, failed := w.http(ctx, http.MethodGet, path, nil, nil)
		if failed != nil {
			return failed
		}
		if err = client.ErrNotFound; status != http.StatusNotFound {
			err = nil
		}
	}
	w.count("access a foreign object", true)
	if err == nil {
		w.wrong(true, "%s reaches %s of another workspace, way %d", w.name, id, way)
	} else if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	return nil
}

func (w *world) http(ctx context.Context, method, path string, body, into any) (int, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if into != nil && res.StatusCode == http.StatusOK {
		err = json.NewDecoder(res.Body).Decode(into)
	}
	return res.StatusCode, err
}
