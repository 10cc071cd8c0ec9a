package production

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/bench/ground"
)

// exchange sends the head of a request, keeps the connection open, and returns the status and the time
// until the gateway closed the connection.
func exchange(ctx context.Context, gateway, head string) (status int, took time.Duration, err error) {
	const most = 30 * time.Second
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(gateway, "http://"))
	if err != nil {
		return 0, 0, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	began := time.Now()
	_ = conn.SetDeadline(began.Add(most)) // cannot fail on an open connection
	if _, err := io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")); err != nil {
		return 0, 0, fmt.Errorf("send: %w", err)
	}
	from := bufio.NewReader(conn)
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("no response: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // the connection may close first
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		return res.StatusCode, 0, fmt.Errorf("the connection is open after status %d: %w", res.StatusCode, err)
	}
	return res.StatusCode, time.Since(began), nil
}

func attackBody(ctx context.Context, s *siege, t tenant) (string, error) {
	gateway := s.fleet.gateways[0].url
	head := func(key string) string {
		return "POST /v1/distill HTTP/1.1\nHost: x\nContent-Type: application/json\nAuthorization: Bearer " + key +
			"\nTransfer-Encoding: chunked\n\n"
	}
	status, took, err := exchange(ctx, gateway, head("cairn_bad"))
	if err == nil && (status != http.StatusUnauthorized || took > 5*time.Second) {
		err = fmt.Errorf("with a bad key: status %d after %s", status, took)
	}
	if err != nil {
		return "", err
	}
	status, silent, err := exchange(ctx, gateway, head(t.key))
	if err == nil && (status != http.StatusRequestTimeout || silent < 8*time.Second || silent > 15*time.Second) {
		err = fmt.Errorf("without data: status %d after %s", status, silent)
	}
	return fmt.Sprintf("%d after %s, 401 with a bad key after %s", status, ground.Seconds(silent),
		ground.Seconds(took)), err
}

func attackNumbers(ctx context.Context, s *siege, t tenant) (string, error) {
	const talk = `"messages":[{"role":"user","content":"How do I export a report?"}]`
	requests := 0
	for _, a := range []struct{ method, path, body string }{
		{"POST", "/v1/memories", `{"memory_type":"personal","memory_target":"Ann","content":"x","importance":%s}`},
		{"POST", "/v1/summary_memory", `{"trajectories":[{` + talk + `,"score":%s}]}`},
		{"POST", "/v1/distill", `{` + talk + `,"reward":%s}`},
		{"POST", "/v1/retrieve_memory", `{"query":"bees","filter":true,"min_score":%s}`},
		{"PATCH", "/v1/settings", `{"curation":{"floor":%s}}`},
		{"PATCH", "/v1/settings", `{"search":{"w_lexical":%s}}`},
		{"PATCH", "/v1/settings", `{"nudge":{"every":%s}}`},
		{"PATCH", "/v1/settings", `{"micros_per_day":%s}`},
	} {
		for _, value := range []string{"1e999", "-1e999", "1e300", `"NaN"`, `"Infinity"`, "NaN"} {
			requests++
			res, err := s.c.do(ctx, t, a.method, a.path, fmt.Sprintf(a.body, value))
			if err != nil {
				return "", err
			}
			if res.status != http.StatusBadRequest ||
				!strings.Contains(string(res.body), string(fault.InvalidArgument)) {
				return "", fmt.Errorf("%s %s with %s: %d %.200s", a.method, a.path, value, res.status, res.body)
			}
		}
	}
	var shown struct {
		Memories int `json:"memories"`
	}
	if err := s.c.expect(ctx, t, http.MethodGet, "/v1/workspace", nil, http.StatusOK, &shown); err != nil {
		return "", err
	}
	if shown.Memories > 0 {
		return "", fmt.Errorf("%d memories are stored", shown.Memories)
	}
	return fmt.Sprintf("%d requests get 400", requests), nil
}

func attackStreams(ctx context.Context, s *siege, t tenant) (string, error) {
	const most = 20
	defer s.e.model.Release("streams")
	body := message("c", t.mark(0), 0)
	body["text"] = fmt.Sprintf("This is %s: I want %s.", t.mark(0), wordHeld)
	c := newClient(s.fleet.gateways[0].url)
	var out turn
	if err := c.expect(ctx, t, http.MethodPost, "/v1/turns", body, http.StatusAccepted, &out); err != nil {
		return "", err
	}
	for n := range most + 1 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.urls[0]+out.Links.Events, nil)
		if err != nil {
			return "", fmt.Errorf("make the request: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+t.key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", fmt.Errorf("open a stream: %w", err)
		}
		defer res.Body.Close()
		switch {
		case n < most && res.StatusCode != http.StatusOK:
			return "", fmt.Errorf("stream %d gets %d", n+1, res.StatusCode)
		case n == most && (res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == ""):
			return "", fmt.Errorf("stream %d gets %d, %v", n+1, res.StatusCode, res.Header)
		}
	}
	return "20 are open, 429 with Retry-After", nil
}

func attackBadKeys(ctx context.Context, s *siege, t tenant) (string, error) {
	const most = 20
	c := newClient(s.fleet.gateways[1].url)
	if err := c.expect(ctx, t, http.MethodGet, "/v1/skills", nil, http.StatusOK, nil); err != nil {
		return "", err
	}
	for n := range most + 1 {
		a, err := c.do(ctx, tenant{key: fmt.Sprintf("cairn_%043d", n)}, http.MethodGet, "/v1/skills", nil)
		if err != nil {
			return "", err
		}
		want := http.StatusUnauthorized
		if n == most {
			want = http.StatusTooManyRequests
		}
		if a.status != want {
			return "", fmt.Errorf("bad key %d gets %d, want %d", n+1, a.status, want)
		}
	}
	if err := c.expect(ctx, t, http.MethodGet, "/v1/skills", nil, http.StatusOK, nil); err != nil {
		return "", fmt.Errorf("a key that is known: %w", err)
	}
	return "20 get 401, then 429", nil
}

func attackConfig(ctx context.Context, s *siege, _ tenant) (string, error) {
	const planted = "pl4nted-s3cret"
	settings := []string{"DATABASE_URL=postgres://u:" + planted + "@127.0.0.1/db",
		"CAIRN_DATABASE_DIRECT_URL=postgres://127.0.0.1/db?user=u&password=" + planted,
		"CAIRN_GRAPH_DATABASE_URL=postgres://u:" + planted + "@127.0.0.1/db",
		"OPENAI_BASE_URL=https://u:" + planted + "@127.0.0.1/v1", "OPENAI_API_KEY=" + planted,
		"CAIRN_EMBEDDING_BASE_URL=https://127.0.0.1/v1?api_key=" + planted, "CAIRN_EMBEDDING_API_KEY=" + planted,
		"OSS_ACCESS_KEY_SECRET=" + planted, "OSS_SESSION_TOKEN=" + planted}
	for _, format := range []string{"table", "json"} {
		out, err := s.e.command(ctx, settings, "config", "-o", format)
		if err != nil {
			return "", err
		}
		if strings.Contains(out, planted) {
			return "", fmt.Errorf("cairn config -o %s shows a password", format)
		}
	}
	return fmt.Sprintf("%d settings with a password", len(settings)), nil
}

func attackSecrets(ctx context.Context, s *siege, t tenant) (string, error) {
	names := config.Secrets()
	file := filepath.Join(s.e.folder, "secret")
	for _, name := range names {
		if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
			return "", fmt.Errorf("write a secret: %w", err)
		}
		out, err := s.e.command(ctx, []string{name + "=direct", name + "_FILE=" + file}, "config")
		if err == nil || !strings.Contains(out, name+"_FILE") {
			return "", fmt.Errorf("%s and %s_FILE together are accepted: %.200s", name, name, out)
		}
	}
	// base sets DATABASE_URL, so the address goes into a file through an empty value.
	address := s.e.pooler.URL(login, database)
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write a secret: %w", err)
	}
	g, err := s.e.startGateway(ctx, "gateway-secret", []string{"DATABASE_URL=", "DATABASE_URL_FILE=" + file,
		"CAIRN_DATABASE_POOLER=transaction"})
	if err != nil {
		return "", err
	}
	defer g.Stop()
	return fmt.Sprintf("%d secrets", len(names)), newClient(g.url).expect(ctx, t, http.MethodGet, "/v1/skills", nil,
		http.StatusOK, nil)
}
