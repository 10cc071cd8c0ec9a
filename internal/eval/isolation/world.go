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
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/gateway"
	"cairn/starter/client"
)

// world is one workspace with what it should hold.
type world struct {
	*tally
	name    string
	key     string
	url     string
	random  *rand.Rand
	library *client.Client
	mcp     *mcp.ClientSession

	entries map[string]*entry // long-term ones, by id
	saved   []string          // what stands in every prompt
	n       int
}

// entry is a memory as the model has it.
type entry struct {
	target, content string
	version         int
	gone            bool
}

func open(ctx context.Context, g *gateway.Gateway, url string, n int, seed uint64, t *tally) (*world, error) {
	w := &world{tally: t, name: fmt.Sprintf("w%d", n), url: url, random: rand.New(rand.NewPCG(seed, uint64(n))), entries: map[string]*entry{}}
	ws, err := g.Store.Workspace(ctx, w.name, true)
	if err != nil {
		return nil, err
	}
	if w.key, _, err = g.Keys.Create(ctx, ws.ID, "isolation", []gateway.Scope{gateway.Write}); err != nil {
		return nil, err
	}
	if w.library, err = client.New(client.Config{URL: url, Key: w.key}); err != nil {
		return nil, err
	}
	speaker := mcp.NewClient(&mcp.Implementation{Name: "isolation", Version: "1"}, nil)
	w.mcp, err = speaker.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp?profile=all", HTTPClient: &http.Client{Transport: keyed(w.key)}, DisableStandaloneSSE: true}, nil)
	return w, err
}

func (w *world) close() {
	_ = w.mcp.Close() // there are no sessions to end
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

// step is one operation, drawn at random.
func (w *world) step(ctx context.Context) error {
	type action struct {
		weight int
		do     func(context.Context) error
	}
	actions := []action{{30, w.add}, {15, w.update}, {8, w.remove}, {10, w.get}, {10, w.foreign}, {12, w.retrieve}, {10, w.search}, {8, w.tool}, {7, w.save}}
	at := w.random.IntN(110)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			return a.do(ctx)
		}
	}
	return w.add(ctx)
}

// sentence is one that every workspace says, or one of its own.
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

// alive draws one of the workspace's memories; empty when there is none.
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

// add remembers by the library or as a client of mem0 does.
func (w *world) add(ctx context.Context) error {
	target, content := targets[w.random.IntN(len(targets))], w.sentence()
	known, there := w.saying(target, content)
	id := ""
	if w.random.IntN(3) == 0 {
		w.count("add by mem0", false)
		var out struct{ Results []struct{ ID, Event string } }
		status, err := w.http(ctx, http.MethodPost, "/mem0/memories", map[string]any{"messages": content, "user_id": target, "infer": false}, &out)
		if err != nil {
			return err
		}
		if status != http.StatusOK || len(out.Results) != 1 || (out.Results[0].Event == "NONE") != there {
			w.wrong(false, "%s adds by mem0: %d %+v, was there: %t", w.name, status, out, there)
			return nil
		}
		id = out.Results[0].ID
	} else {
		w.count("add by the library", false)
		made, err := w.library.Add(ctx, client.NewMemory{Type: "personal", Target: target, Content: content})
		if err != nil {
			return err
		}
		if len(made.IDs) != 1 || (made.Action == "already_exists") != there {
			w.wrong(false, "%s adds: %+v, was there: %t", w.name, made, there)
			return nil
		}
		id = made.IDs[0]
	}
	if there && id != known {
		w.wrong(w.stranger(id), "%s has %q as %s and is told %s", w.name, content, known, id)
		return nil
	}
	if !there {
		if owner, taken := w.strangers.LoadOrStore(id, w.name); taken {
			w.wrong(true, "%s is given %s, which is %v's", w.name, id, owner)
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
	w.count("update by the library", false)
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
	w.count("delete by HTTP", false)
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
	w.count("get by the library", false)
	m, err := w.library.Get(ctx, id)
	if err != nil {
		return err
	}
	if e := w.entries[id]; m.Content != e.content || m.Version != e.version || m.Target != e.target {
		w.wrong(false, "%s gets %+v, the model has %+v", w.name, m, *e)
	}
	return nil
}

// foreign tries what belongs to another, by every way.
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
	w.count("try another's", true)
	if err == nil {
		w.wrong(true, "%s reaches %s of another workspace, way %d", w.name, id, way)
	} else if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	return nil
}

// hit checks something that a search has found.
func (w *world) hit(id, content string) {
	e, mine := w.entries[id]
	switch {
	case !mine:
		w.wrong(true, "%s finds %s %q, which is not its own", w.name, id, content)
	case e.gone || e.content != content:
		w.wrong(false, "%s finds %s %q, the model has %+v", w.name, id, content, *e)
	}
}

func (w *world) retrieve(ctx context.Context) error {
	w.count("retrieve by the library", false)
	options := []client.Option{client.Mode("fast"), client.TopK(5)}
	if w.random.IntN(2) == 0 {
		options = append(options, client.Targets(client.Target{Type: "personal", Target: targets[w.random.IntN(len(targets))]}))
	}
	answer, err := w.library.Retrieve(ctx, w.query(), options...)
	for _, m := range answer.Memories {
		w.hit(m.ID, m.Content)
	}
	return err
}

func (w *world) query() string {
	return []string{"kite of colour", "the meeting is in room 1", "Shared fact 7", "who flies a kite"}[w.random.IntN(4)]
}

func (w *world) search(ctx context.Context) error {
	w.count("search by mem0", false)
	var out struct{ Results []struct{ ID, Memory string } }
	status, err := w.http(ctx, http.MethodPost, "/mem0/search", map[string]any{"query": w.query(), "filters": map[string]any{"user_id": targets[w.random.IntN(len(targets))]}}, &out)
	if err == nil && status != http.StatusOK {
		w.wrong(false, "%s searches by mem0: %d", w.name, status)
	}
	for _, m := range out.Results {
		w.hit(m.ID, m.Memory)
	}
	return err
}

// tool looks for memories over MCP, with a workspace that nobody asked for.
func (w *world) tool(ctx context.Context) error {
	w.count("retrieve over MCP", false)
	r, err := w.call(ctx, "vector_retrieve_memory", map[string]any{"workspace_id": "w0", "query_items": []any{map[string]any{"memory_type": "personal", "memory_target": targets[w.random.IntN(len(targets))], "query": w.query()}}})
	if err != nil {
		return err
	}
	ids, _ := r["memory_ids"].([]any)
	for _, id := range ids {
		if e, mine := w.entries[fmt.Sprint(id)]; !mine || e.gone {
			w.wrong(!mine, "%s is shown %v over MCP", w.name, id)
		}
	}
	return nil
}

// mostSaved keeps the prompt memories within their budget.
const mostSaved = 8

// save changes what stands in every prompt, over MCP.
func (w *world) save(ctx context.Context) error {
	w.count("save and remove over MCP", false)
	if len(w.saved) == mostSaved {
		_, err := w.call(ctx, "memory_remove", map[string]any{"store": "core", "match": w.saved[0]})
		w.saved = w.saved[1:]
		return err
	}
	w.n++
	text := fmt.Sprintf("Number %d is lucky for %s.", w.n, w.name)
	_, err := w.call(ctx, "memory_save", map[string]any{"content": text})
	w.saved = append(w.saved, text)
	return err
}

func (w *world) call(ctx context.Context, tool string, arguments map[string]any) (map[string]any, error) {
	r, err := w.mcp.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	out, _ := r.StructuredContent.(map[string]any)
	if r.IsError {
		w.wrong(false, "%s calls %s: %v", w.name, tool, out)
	}
	return out, nil
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

// compare looks at all that the workspace holds in the end.
func (w *world) compare(ctx context.Context) error {
	all, err := w.library.List(ctx)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for id, e := range w.entries {
		if !e.gone {
			left[id] = true
		}
	}
	for _, m := range all {
		e, mine := w.entries[m.ID]
		if !mine || e.gone || e.content != m.Content || e.version != m.Version || e.target != m.Target {
			w.wrong(!mine, "%s ends with %+v", w.name, m)
		}
		delete(left, m.ID)
	}
	for id := range left {
		w.wrong(false, "%s has lost %s", w.name, id)
	}
	var prompt struct{ Memories []struct{ Content string } }
	if _, err := w.http(ctx, http.MethodGet, "/v1/memories", nil, &prompt); err != nil {
		return err
	}
	var held []string
	for _, m := range prompt.Memories {
		held = append(held, m.Content)
		if !strings.Contains(m.Content, "for "+w.name+".") {
			w.wrong(true, "%s ends with %q in its prompt", w.name, m.Content)
		}
	}
	if !slices.Equal(held, w.saved) {
		w.wrong(false, "%s ends with %v in its prompt, the model has %v", w.name, held, w.saved)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Compared += len(all) + len(held)
	return nil
}
