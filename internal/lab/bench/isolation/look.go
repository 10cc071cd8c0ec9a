package isolation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/starter/client"
)

// hit checks a search result.
func (w *world) hit(id, content string) {
	e, mine := w.entries[id]
	switch {
	case !mine:
		w.wrong(true, "%s finds %s %q, of another workspace", w.name, id, content)
	case e.gone || e.content != content:
		w.wrong(false, "%s finds %s %q, the model has %+v", w.name, id, content, *e)
	}
}

func (w *world) retrieve(ctx context.Context) error {
	w.count("retrieve with the client", false)
	options := []client.Option{client.Mode("fast"), client.TopK(5)}
	if w.random.IntN(2) == 0 {
		options = append(options, client.Targets(
			client.Target{Type: "personal", Target: targets[w.random.IntN(len(targets))]}))
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
	w.count("search with mem0", false)
	var out struct{ Results []struct{ ID, Memory string } }
	status, err := w.http(ctx, http.MethodPost, "/mem0/search",
		map[string]any{"query": w.query(), "filters": map[string]any{"user_id": targets[w.random.IntN(len(targets))]}},
		&out)
	if err == nil && status != http.StatusOK {
		w.wrong(false, "%s searches with mem0: %d", w.name, status)
	}
	for _, m := range out.Results {
		w.hit(m.ID, m.Memory)
	}
	return err
}

// tool searches memories over MCP, with an argument that names a workspace.
func (w *world) tool(ctx context.Context) error {
	w.count("retrieve over MCP", false)
	r, err := w.call(ctx, "vector_retrieve_memory",
		map[string]any{"workspace_id": "w0", "query_items": []any{
			map[string]any{"memory_type": "personal", "memory_target": targets[w.random.IntN(len(targets))],
				"query": w.query()}}})
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

// maxSaved limits the number of prompt memories, which have a budget.
const maxSaved = 8

// save changes prompt memories over MCP.
func (w *world) save(ctx context.Context) error {
	w.count("save and remove over MCP", false)
	if len(w.saved) == maxSaved {
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

// compare compares all memories of the workspace at the end.
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
