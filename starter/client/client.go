// Package client is the Go client of Cairn's HTTP API. It sends messages and reads replies,
// remembers sessions, searches memories and skills, and distills conversations into skills.
// It needs the address of a running `cairn serve` and an API key of a workspace.
//
//	c, err := client.New(client.Config{}) // reads CAIRN_URL and CAIRN_KEY
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	reply, err := c.Chat(ctx, "trip-42", "I only fly from Osaka.")
//	answer, err := c.Retrieve(ctx, "Where does the user fly from?", client.Mode("fast"))
//
// # Options
//
// Options of a call take precedence over options of the client, which take precedence over
// the environment variables CAIRN_MODE, CAIRN_TOP_K and CAIRN_WAIT. A method ignores
// options that it does not use.
//
// # Errors and retries
//
// Methods return an [*Error] with a code, a message and a hint. Compare codes with
// errors.Is, for example errors.Is(err, client.ErrNotFound). The client retries requests
// whose error is retryable. A retried change takes effect once, because the client sends an
// idempotency key with it.
//
// # Your own agent
//
// [Client.Hook] adds memory to an agent of your program. [Client.Tools] returns tools that
// such an agent can call.
package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Config holds the address of Cairn, the API key and the transport. The zero value takes the
// address and the key from environment variables.
type Config struct {
	URL     string            // address of `cairn serve`; empty means CAIRN_URL, else http://127.0.0.1:8080
	Key     string            // API key, which selects the workspace; empty means CAIRN_KEY
	Handler http.Handler      // serves requests in this process instead of URL
	HTTP    http.RoundTripper // nil means http.DefaultTransport; ignored with Handler
	Retries int               // maximum retries of a retryable error; 0 means 4, -1 means none
}

// Client gives access to the workspace of its key. It is safe for concurrent use.
type Client struct {
	url, key string
	http     *http.Client
	retries  int
	usual    settings
	closed   atomic.Bool
}

// usualRetries are enough to wait for the restart of a gateway.
const usualRetries = 4

// New returns a client. The options apply to each call, unless the call sets its own.
//
// New sends no request, so it does not check the key. It returns an error if no key is set or
// if an environment variable is invalid.
func New(c Config, options ...Option) (*Client, error) {
	out := &Client{url: strings.TrimRight(cmp.Or(c.URL, os.Getenv("CAIRN_URL"), "http://127.0.0.1:8080"), "/"),
		key: cmp.Or(c.Key, os.Getenv("CAIRN_KEY")), retries: cmp.Or(c.Retries, usualRetries)}
	if out.key == "" {
		return nil, &Error{Code: "unauthenticated", Message: "missing API key",
			Hint: "set Config.Key or CAIRN_KEY to a key from `cairn keys create`"}
	}
	out.http = &http.Client{Transport: c.HTTP}
	if c.Handler != nil {
		out.url, out.http.Transport = "http://in.process", inProcess{c.Handler}
	}
	var err error
	if out.usual, err = environment(os.Getenv); err != nil {
		return nil, err
	}
	out.usual = out.usual.with(options)
	return out, nil
}

// Close closes idle connections. Later calls return [ErrClosed]. It always returns nil.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.http.CloseIdleConnections()
	return nil
}

// settings holds the values of options.
type settings struct {
	wait         *time.Duration
	topK         int
	mode         string
	types        []string
	targets      []Target
	id           string
	agents       map[string]bool // enable_* members of the request
	days         string
	least        *float64
	within       time.Duration
	messages     []Message
	trajectories []Trajectory
	facts        map[string]any
	add          string
}

// Option configures one call, or all calls of a client.
type Option func(*settings)

// Wait sets how long a call waits for its result, rounded to seconds, at most 2 minutes. By
// default, Turn and Retrieve wait 60 seconds for an agent, and Summary does not wait.
func Wait(d time.Duration) Option { return func(s *settings) { s.wait = &d } }

// TopK sets the maximum number of memories or search results. If n is 0, Cairn's default
// applies.
func TopK(n int) Option { return func(s *settings) { s.topK = n } }

// Mode sets the mode of a question: fast, agentic or auto.
func Mode(mode string) Option { return func(s *settings) { s.mode = mode } }

// Types selects memories by type: personal, procedural, tool, identity or summary.
func Types(types ...string) Option { return func(s *settings) { s.types = types } }

// Targets selects memories by target, or sets the targets of a session.
func Targets(targets ...Target) Option { return func(s *settings) { s.targets = targets } }

// Days limits a fast search to a day ("20260301") or to a range of days
// ("20260301,20260331").
func Days(filter string) Option { return func(s *settings) { s.days = filter } }

// MinScore excludes results of a fast search with a lower score, 0 to 1. With
// enable_llm_rerank it is compared with the model's score, otherwise with the fraction of
// the best score.
func MinScore(least float64) Option { return func(s *settings) { s.least = &least } }

// Deadline bounds the time that a model spends on the result of a fast search. It applies to
// Enable("enable_llm_rerank", true) and Enable("enable_llm_rewrite", true).
func Deadline(d time.Duration) Option { return func(s *settings) { s.within = d } }

// Messages sets the messages before a question.
func Messages(messages ...Message) Option { return func(s *settings) { s.messages = messages } }

// Trajectories sets attempts at the task of a question.
func Trajectories(attempts ...Trajectory) Option {
	return func(s *settings) { s.trajectories = attempts }
}

// Metadata sets facts about a question, which its answer returns.
func Metadata(facts map[string]any) Option { return func(s *settings) { s.facts = facts } }

// RequestID sets the ID of a request. Calls with the same ID are the same request: a change
// takes effect once, and a question returns the same answer.
func RequestID(id string) Option { return func(s *settings) { s.id = id } }

// Add sets how Summary adds the session to memory: fast makes one model call for a session with one
// target, agents lets agents work, and auto chooses. By default, the setting memory.add applies.
func Add(how string) Option { return func(s *settings) { s.add = how } }

// Enable sets an option of the agents by its name in the HTTP API: enable_multiple,
// enable_thinking_params, add_think_tool, enable_tool_memory, enable_identity_memory,
// enable_summary_memory, enable_skill_memory, enable_llm_rerank, enable_llm_rewrite or
// allow_new_targets.
func Enable(name string, on bool) Option {
	return func(s *settings) {
		all := map[string]bool{name: on}
		for k, v := range s.agents {
			if k != name {
				all[k] = v
			}
		}
		s.agents = all
	}
}

func (s settings) with(options []Option) settings {
	for _, set := range options {
		set(&s)
	}
	return s
}

// environment returns the options of the environment variables CAIRN_MODE, CAIRN_TOP_K and
// CAIRN_WAIT.
func environment(get func(string) string) (out settings, err error) {
	out.mode = get("CAIRN_MODE")
	if text := get("CAIRN_TOP_K"); text != "" {
		if out.topK, err = strconv.Atoi(text); err != nil {
			return out, &Error{
				Code:    "misconfigured",
				Message: fmt.Sprintf("invalid CAIRN_TOP_K %q", text),
				Hint:    "set it to a number such as 20",
			}
		}
	}
	if text := get("CAIRN_WAIT"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return out, &Error{
				Code:    "misconfigured",
				Message: fmt.Sprintf("invalid CAIRN_WAIT %q", text),
				Hint:    "set it to a duration such as 30s",
			}
		}
		out.wait = &d
	}
	return out, nil
}

// Target is the subject of memories, such as {Type: "personal", Target: "alice"}.
type Target struct {
	Type   string `json:"memory_type"`   // see Types; List and DeleteAll accept an empty type, which means any
	Target string `json:"memory_target"` // name of the person, group or domain
}

// seconds returns the wait in seconds, or nil if no wait is set.
func (s settings) seconds() *int {
	if s.wait == nil {
		return nil
	}
	n := int(min(s.wait.Round(time.Second), 2*time.Minute) / time.Second)
	return &n
}

// body adds the members of the options to a request.
func (s settings) body(members map[string]any) map[string]any {
	add := func(name string, v any, given bool) {
		if given {
			members[name] = v
		}
	}
	add("memory_types", s.types, len(s.types) > 0)
	add("targets", s.targets, len(s.targets) > 0)
	add("request_id", s.id, s.id != "")
	if n := s.seconds(); n != nil {
		members["wait"] = *n
	}
	for name, on := range s.agents {
		members[name] = on
	}
	return members
}

// call sends a request. Once is the idempotency key of a change, else empty.
func (c *Client) call(ctx context.Context, method, path string, body, into any, once string) error {
	return c.send(ctx, request{method, path, body, once}, into)
}
