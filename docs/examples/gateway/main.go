// Command gateway is a small chat gateway. It sends each line of standard input as a
// message of a conversation to a running `cairn serve` and prints the replies. At the end
// it prints the reviews and the saved memories. It uses the HTTP API and only the
// standard library of Go.
//
//	CAIRN_KEY=cairn_… go run ./docs/examples/gateway -conversation trip < lines.txt
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	conversation := flag.String("conversation", "example", "ID of the conversation")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g := gateway{url: os.Getenv("CAIRN_URL"), key: os.Getenv("CAIRN_KEY")}
	if g.url == "" {
		g.url = "http://127.0.0.1:8080"
	}
	if err := g.run(ctx, *conversation, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

// gateway is a client of the workspace that the key selects.
type gateway struct{ url, key string }

// The members of Cairn's responses that this program uses.
type (
	answer struct {
		Status, Reply string
	}
	conversation struct {
		Nudges []struct {
			Status string
			Turn   int
			Writes []struct{ Tool, Action string }
		}
		Live struct { // state of the workflow while it runs
			Busy     int // messages in progress: a reply is sent before the nudge is decided
			Counters struct {
				InFlight int `json:"in_flight"` // turn whose review is running
			}
		}
	}
	memories struct {
		Memories []struct{ Type, Origin, Content string }
	}
)

func (g gateway) run(ctx context.Context, thread string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		// A channel provides an ID for each message. Here it is the line number, so a second
		// run with the same lines returns the same replies.
		reply, err := g.answer(ctx, thread, fmt.Sprintf("line-%d", n), text)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "you:   %s\ncairn: %s\n", text, reply)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	return g.show(ctx, thread, out)
}

// answer sends a message until it has a reply. Repeating the request is safe: a message
// gets one reply.
func (g gateway) answer(ctx context.Context, thread, id, text string) (string, error) {
	for {
		var a answer
		err := g.call(ctx, http.MethodPost, "/v1/turns",
			map[string]any{"conversation": thread, "message_id": id, "text": text, "wait": 60}, &a)
		if err != nil || a.Status == "ended" {
			return a.Reply, err
		}
	}
}

// patience is how long show waits for reviews.
const patience = 30 * time.Second

// show waits for the reviews of the conversation and prints them with the workspace's
// memories.
func (g gateway) show(ctx context.Context, thread string, out io.Writer) error {
	var c conversation
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		c = conversation{}
		if err := g.call(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(thread), nil, &c); err != nil {
			return err
		}
		if c.Live.Busy == 0 && c.Live.Counters.InFlight == 0 || time.Now().After(end) {
			break
		}
	}
	for _, n := range c.Nudges {
		fmt.Fprintf(out, "nudge after turn %d: %s, %d writes\n", n.Turn, n.Status, len(n.Writes))
	}
	var m memories
	if err := g.call(ctx, http.MethodGet, "/v1/memories", nil, &m); err != nil {
		return err
	}
	for _, entry := range m.Memories {
		fmt.Fprintf(out, "memory (%s, by %s): %s\n", entry.Type, entry.Origin, entry.Content)
	}
	return nil
}

// call sends a request and retries it if the error is retryable.
func (g gateway) call(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	for attempt := 1; ; attempt++ {
		problem, err := g.try(ctx, method, path, raw, into)
		if err == nil || !problem.Retryable || attempt == 5 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(attempt) * time.Second):
		}
	}
}

// problem is the JSON form of Cairn's errors.
type problem struct {
	Code, Message, Hint string
	Retryable           bool
}

func (g gateway) try(ctx context.Context, method, path string, body []byte, into any) (problem, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.url+path, bytes.NewReader(body))
	if err != nil {
		return problem{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return problem{Retryable: true}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		var p problem
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
			p.Message = res.Status
		}
		return p, fmt.Errorf("%s %s: %s (%s): %s", method, path, p.Message, p.Code, p.Hint)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return problem{Retryable: true}, fmt.Errorf("%s %s: read the response: %w", method, path, err)
	}
	return problem{}, nil
}
