package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// cutTime is five times what a read of a body may take.
const cutTime = 5 * 10 * time.Second

// The limits are those of a deployment: 10 seconds without data.
func TestACutBodyEndsItsRequestOnEveryRoute(t *testing.T) {
	t.Parallel()
	b := everything(t)
	var all sync.WaitGroup
	for _, e := range b.endpoints() {
		for name, rest := range map[string]string{
			"announced":        "Content-Length: 2000\n\n",
			"half":             "Content-Length: 2000\n\n" + strings.Repeat(" ", 1000),
			"half of a chunk":  chunked + "7d0\n" + strings.Repeat(" ", 1000),
			"without its end":  chunked + "3e8\n" + strings.Repeat(" ", 1000) + "\n",
			"half of a value":  "Content-Length: 2000\n\n" + `{"messages":[{"content":"` + strings.Repeat("x", 900),
			"more than a read": "Content-Length: 300000\n\n" + strings.Repeat(" ", 270_000),
		} {
			all.Go(func() {
				if err := b.cut(e, rest); err != nil {
					t.Errorf("%s, %s: %v", e, name, err)
				}
			})
		}
	}
	all.Wait()
}

// cut sends a part of a request, keeps the connection open, and waits until the gateway has answered and closed it.
func (b *bundle) cut(e endpoint, rest string) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	head := fmt.Sprintf("%s %s HTTP/1.1\nHost: 127.0.0.1\n", e.method, e.path)
	if e.header["Content-Type"] == "" {
		head += "Content-Type: application/json\n"
	}
	for name, value := range e.header {
		head += name + ": " + value + "\n"
	}
	if err := conn.SetDeadline(time.Now().Add(cutTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, strings.ReplaceAll(head+rest, "\n", "\r\n")); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	from := bufio.NewReader(conn)
	res, err := http.ReadResponse(from, &http.Request{Method: e.method})
	if err != nil {
		return fmt.Errorf("no response within %s: %w", cutTime, err)
	}
	if res.StatusCode == http.StatusInternalServerError {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	if _, err := io.Copy(io.Discard, from); err != nil && !strings.Contains(err.Error(), "reset") {
		return fmt.Errorf("status %d, and the connection is open after %s: %w", res.StatusCode, cutTime, err)
	}
	return nil
}

// A body that arrives byte by byte ends, too, unless it is a load, whose size is not limited.
func TestASlowBodyEnds(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := everything(t)
	var all sync.WaitGroup
	for _, path := range []string{"/v1/distill", "/v1/chat/completions", "/mem0/memories", "/mcp", "/v1/otlp/v1/traces",
		"/v1/skills/upload", "/v1/imports", "/channels/desk/events"} {
		all.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: "+
				"application/json, text/event-stream\r\nAuthorization: Bearer %s\r\nContent-Length: 2000\r\n\r\n",
				path, b.key)
			go func() {
				for range time.Tick(time.Second) {
					if _, err := io.WriteString(conn, " "); err != nil {
						return
					}
				}
			}()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode < http.StatusBadRequest {
				t.Errorf("%s: %v, %v", path, res, err)
			}
		})
	}
	all.Wait()
}
