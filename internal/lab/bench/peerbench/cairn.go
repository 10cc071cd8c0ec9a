package peerbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"cairn/internal/lab/bench/ground"
)

// cairn drives `cairn serve` over mem0's routes.
type cairn struct {
	program, home, url string
	log                io.Writer
	gateway            *ground.Gateway
}

func (c *cairn) start(ctx context.Context) (err error) {
	c.gateway, err = ground.StartGateway(
		ctx,
		c.program,
		c.home,
		c.log,
		"OPENAI_BASE_URL="+c.url,
		"OPENAI_API_KEY=sk-test",
		"CAIRN_MODEL=stub",
		"CAIRN_EMBEDDING_MODEL=stub",
		"CAIRN_EMBEDDING_BASE_URL="+c.url,
		"CAIRN_EMBEDDING_API_KEY=sk-test",
		fmt.Sprintf("CAIRN_EMBEDDING_DIMENSIONS=%d", dims),
		"CAIRN_RATE_LIMIT=0",
	)
	return err
}

type memories struct {
	Results []struct{ Memory string }
}

func (m memories) texts() (out []string) {
	for _, one := range m.Results {
		out = append(out, one.Memory)
	}
	return out
}

func (c *cairn) do(ctx context.Context, path string, body object, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.gateway.URL+"/mem0"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Token "+c.gateway.Key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: status %d: %.300s", path, res.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (c *cairn) add(ctx context.Context, user, text string) error {
	var out memories
	err := c.do(ctx, "/v1/memories/", object{"user_id": user,
		"messages": []object{{"role": "user", "content": text}}}, &out)
	if err == nil && len(out.Results) == 0 {
		err = fmt.Errorf("nothing was added")
	}
	return err
}

func (c *cairn) load(ctx context.Context, user string, texts []string) error {
	messages := make([]object, len(texts))
	for i, text := range texts {
		messages[i] = object{"role": "user", "content": text}
	}
	return c.do(ctx, "/v3/memories/add/", object{"user_id": user, "infer": false, "messages": messages}, &memories{})
}

func (c *cairn) search(ctx context.Context, user, query string) ([]string, error) {
	var out memories
	err := c.do(ctx, "/v3/memories/search/", object{"query": query, "filters": object{"user_id": user}, "top_k": 10},
		&out)
	return out.texts(), err
}

func (c *cairn) list(ctx context.Context, user string) ([]string, error) {
	var out memories
	err := c.do(ctx, "/v3/memories/?page_size=1000", object{"filters": object{"user_id": user}}, &out)
	return out.texts(), err
}

func (c *cairn) kill() error { return c.gateway.Kill() }

func (c *cairn) stop() {
	if c.gateway != nil {
		_ = c.gateway.Stop()
	}
}

// open returns a system by its name.
func open(name string, o Options, m *model, home string) system {
	if name == cairnName {
		return &cairn{program: o.Program, home: home, url: m.server.URL, log: o.Log}
	}
	kind := map[string]string{mem0Name: "mem0", langmemName: "langmem"}[name]
	return &python{name: name, kind: kind, home: home, url: m.server.URL, log: o.Log}
}
