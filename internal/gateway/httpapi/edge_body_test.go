package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// exchange sends head over a connection of its own, keeps the connection open, and returns the response after
// the gateway has closed the connection.
func (b *bundle) exchange(head string) response {
	b.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	testkit.Must(b.T, err)
	defer conn.Close()
	testkit.Must(b.T, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n"))
	testkit.Must(b.T, err)
	from := bufio.NewReader(conn)
	res, err := http.ReadResponse(from, nil)
	testkit.Must(b.T, err)
	raw, err := io.ReadAll(res.Body)
	testkit.Must(b.T, err)
	if _, err := from.ReadByte(); err != io.EOF {
		b.T.Errorf("the connection is open after status %d: %v", res.StatusCode, err)
	}
	return response{b.T, res.StatusCode, res.Header, raw}
}

const chunked = "Transfer-Encoding: chunked\n\n"

// The limit of silence is an hour here: refused requests may not wait for it.
func TestEdgeRefusedRequestsCloseTheConnection(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.gateway.Options.BodyIdle = time.Hour
	for name, attack := range map[string]struct {
		path, key, rest string
		code            fault.Code
	}{
		"bad key":         {"/v1/distill", "cairn_bad", chunked, fault.Unauthenticated},
		"bad key, load":   {"/v1/memories/load", "cairn_bad", chunked, fault.Unauthenticated},
		"announced":       {"/v1/distill", "cairn_bad", "Content-Length: 1000\n\n", fault.Unauthenticated},
		"huge":            {"/v1/distill", b.key, "Content-Length: 999999999999\n\n", fault.TooLarge},
		"no route":        {"/v1/nothing", b.key, chunked, fault.NotFound},
		"half of a chunk": {"/v1/distill", "cairn_bad", chunked + "ff\n{", fault.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			b := *b
			inner := *b.Bundle
			inner.T, b.Bundle = t, &inner
			b.exchange(fmt.Sprintf("POST %s HTTP/1.1\nHost: x\nAuthorization: Bearer %s\n%s", attack.path,
				attack.key, attack.rest)).refused(attack.code)
		})
	}
}

func TestEdgeARateLimitedRequestClosesTheConnection(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0.001 })
	b.gateway.Options.BodyIdle = time.Hour
	b.get("/v1/skills").into(http.StatusOK, nil)
	b.exchange("POST /v1/distill HTTP/1.1\nHost: x\nAuthorization: Bearer " + b.key + "\n" + chunked).
		refused(fault.RateLimited)
}

func TestEdgeABodyWithoutDataIsCut(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.gateway.Options.BodyIdle = 200 * time.Millisecond
	for _, path := range []string{"/v1/distill", "/v1/memories/load", "/mem0/memories", "/v1/chat/completions"} {
		for _, rest := range []string{chunked, chunked + "ff\n{"} {
			res := b.exchange("POST " + path + " HTTP/1.1\nHost: x\nContent-Type: application/json\n" +
				"Authorization: Bearer " + b.key + "\n" + rest)
			if res.status != http.StatusRequestTimeout || !strings.Contains(string(res.body), "stopped arriving") {
				t.Errorf("%s: status %d: %s", path, res.status, res.body)
			}
		}
	}
}

// Small values take much more memory decoded than in the body.
func TestEdgeABodyOfManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	b := idle(t)
	many := strings.Repeat("{},", 600_000)
	for _, path := range []string{"/v1/chat/completions", "/mem0/memories", "/v1/distill"} {
		res := b.post(path, json.RawMessage(`{"model":"x","messages":[`+many+`{}]}`))
		if res.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(res.body), "JSON values") {
			t.Errorf("%s: status %d: %.500s", path, res.status, res.body)
		}
	}
	text := strings.Repeat(`,{[\"`, 600_000) // in a text, these are characters
	res := b.post("/v1/chat/completions", object{"model": "none", "messages": []any{said("user", text)}})
	if res.status != http.StatusNotFound {
		t.Errorf("status %d: %.500s", res.status, res.body)
	}
}

// A message lists only some violations, because one text for each of many values takes quadratic time.
func TestEdgeAMessageListsSomeViolations(t *testing.T) {
	t.Parallel()
	b := idle(t)
	res := b.post("/v1/turns", json.RawMessage(`{"conversation":"c","message_id":"m","messages":[`+
		strings.Repeat("{},", 100_000)+`{}]}`))
	res.refused(fault.InvalidArgument)
	if n := strings.Count(string(res.body), "messages["); n == 0 || n > 20 {
		t.Errorf("%d violations: %.500s", n, res.body)
	}
}
