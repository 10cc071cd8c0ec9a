package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/corpus"
)

// singles is the number of requests with one memory.
const singles = 300

// overHTTP measures the routes that save memories without a model, each in a new workspace.
func (r *LoadResult) overHTTP(ctx context.Context, h *app.App, n int, seed uint64) (err error) {
	h.Config.RateLimit = 0 // of requests with one memory
	server := httptest.NewServer(h.Gateway(httpapi.NoMeter))
	defer server.Close()
	rows := corpus.Synthetic(seed)
	person := func(i int) string { return fmt.Sprintf("Person %d", i%targets) }
	said := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	batches := func(i int) any {
		return map[string]any{"memory_type": "personal", "memory_target": person(i), "content": rows.Text(i),
			"event_time": said.Add(time.Duration(i) * time.Minute)}
	}
	messages := func(i int) any { return map[string]any{"role": "user", "content": rows.Text(i)} }
	for _, m := range []struct {
		workspace, path string
		total, size     int
		item            func(int) any
		body            func(from int, items []any) any
		into            *float64
	}{
		{"http", "/v1/memories/batch", n, batch, batches,
			func(_ int, items []any) any { return map[string]any{"memories": items} }, &r.HTTP},
		{"mem0", "/mem0/v3/memories/add/", n, batch, messages, mem0Body(person), &r.Mem0},
		{"one", "/mem0/v3/memories/add/", min(n, singles), 1, messages, mem0Body(person), &r.One},
	} {
		key, err := keyOf(ctx, h, m.workspace)
		if err != nil {
			return err
		}
		if *m.into, err = rate(m.total, func() error {
			for at := 0; at < m.total; at += m.size {
				var items []any
				for i := at; i < min(at+m.size, m.total); i++ {
					items = append(items, m.item(i))
				}
				if err := post(ctx, server.URL+m.path, key, m.body(at, items), len(items)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

func mem0Body(person func(int) string) func(int, []any) any {
	return func(from int, items []any) any {
		return map[string]any{"messages": items, "infer": false, "user_id": person(from / batch)}
	}
}

// keyOf returns a key of a new workspace.
func keyOf(ctx context.Context, h *app.App, name string) (string, error) {
	ws, err := h.Store.Workspace(ctx, name, true)
	if err != nil {
		return "", err
	}
	key, _, err := h.Keys.Create(ctx, ws.ID, "load", []access.Scope{access.Write})
	return key, err
}

// post sends a request and checks that it stored n memories.
func post(ctx context.Context, url, key string, body any, n int) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var out struct{ Results []struct{ ID string } }
	raw, err = io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	stored := 0
	for _, one := range out.Results {
		if one.ID != "" {
			stored++
		}
	}
	if err == nil && (res.StatusCode >= http.StatusBadRequest || stored != n) {
		err = fmt.Errorf("status %d, %d of %d stored: %.300s", res.StatusCode, stored, n, raw)
	}
	return err
}
