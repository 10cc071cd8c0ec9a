// Package client speaks to Cairn from a Go program: it answers and records
// turns, makes memories of sessions, asks memory, searches and distils. It needs
// a key of a workspace and nothing else of Cairn.
//
//	c, err := client.New(client.Config{Key: key})            // CAIRN_URL and CAIRN_KEY fill what is left empty
//	defer c.Close()
//	_, err = c.Summary(ctx, client.SummaryRequest{Messages: messages}, client.Wait(30*time.Second))
//	answer, err := c.Retrieve(ctx, "Where does Alice fly from?", client.Mode("fast"))
//
// Options of a call count before options of the client, which count before the
// environment. Requests are sent again when that can help; none has its effect
// twice. Hook wraps an agent of the program's own, and Tools are what such an agent
// can call.
package client

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Config is where Cairn answers and who asks.
type Config struct {
	URL     string            // empty takes CAIRN_URL, else http://127.0.0.1:8080
	Key     string            // empty takes CAIRN_KEY; it names the workspace
	Handler http.Handler      // answers in this process, in place of URL: a gateway.Gateway
	HTTP    http.RoundTripper // empty takes http.DefaultTransport
	Retries int               // of a request that can succeed later; 0 means 4, -1 none
}

// Client is a workspace, as its key has it. It may be used by many at once.
type Client struct {
	url, key string
	http     *http.Client
	retries  int
	usual    settings
	closed   atomic.Bool
}

// usualRetries are enough for a gateway that starts again.
const usualRetries = 4

// New makes a client. Options are those of every call that has none of its own.
func New(c Config, options ...Option) (*Client, error) {
	out := &Client{url: strings.TrimRight(cmp.Or(c.URL, os.Getenv("CAIRN_URL"), "http://127.0.0.1:8080"), "/"),
		key: cmp.Or(c.Key, os.Getenv("CAIRN_KEY")), retries: cmp.Or(c.Retries, usualRetries)}
	if out.key == "" {
		return nil, &Error{Code: "unauthenticated", Message: "there is no key",
			Hint: "set Config.Key or CAIRN_KEY to a key that `cairn keys create` made"}
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

// Close ends the client: calls after it fail.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.http.CloseIdleConnections()
	return nil
}

// settings are what options set.
type settings struct {
	wait    *time.Duration
	topK    int
	mode    string
	types   []string
	targets []Target
	id      string
	agents  map[string]bool // enable_* of the request
	days    string
	least   *float64
	within  time.Duration
	said    []Message
	tried   []Trajectory
	facts   map[string]any
}

// Option changes how a call is made.
type Option func(*settings)

// Wait bounds how long a call waits for a result that takes long. Turns wait 60
// seconds, questions to agents too, and sessions are not waited for.
func Wait(d time.Duration) Option { return func(s *settings) { s.wait = &d } }

// TopK is how many memories or results are wanted at most.
func TopK(n int) Option { return func(s *settings) { s.topK = n } }

// Mode of a question: fast, agentic or auto.
func Mode(mode string) Option { return func(s *settings) { s.mode = mode } }

// Types limits memories to some types: personal, procedural, tool, identity, summary.
func Types(types ...string) Option { return func(s *settings) { s.types = types } }

// Targets are whom a session or a question is about.
func Targets(targets ...Target) Option { return func(s *settings) { s.targets = targets } }

// Days limits a fast search to a day, as 20260301, or to a first and a last day, as
// 20260301,20260331.
func Days(filter string) Option { return func(s *settings) { s.days = filter } }

// MinScore leaves out what a fast search found with less: 0 to 1, of a model's
// score where one reranks, else a share of the best one's score.
func MinScore(least float64) Option { return func(s *settings) { s.least = &least } }

// Deadline bounds what a model does with what a fast search found, as
// Enable("enable_llm_rerank", true) and Enable("enable_llm_rewrite", true) ask for.
func Deadline(d time.Duration) Option { return func(s *settings) { s.within = d } }

// Said is what was said before a question.
func Said(messages ...Message) Option { return func(s *settings) { s.said = messages } }

// Tried are attempts at the task that a question is about.
func Tried(attempts ...Trajectory) Option { return func(s *settings) { s.tried = attempts } }

// Metadata are facts about a question, given back with its answer.
func Metadata(facts map[string]any) Option { return func(s *settings) { s.facts = facts } }

// RequestID makes calls with the same id the same request.
func RequestID(id string) Option { return func(s *settings) { s.id = id } }

// Enable switches an option of the agents by its name in the API, such as
// enable_multiple, enable_thinking_params, add_think_tool, enable_tool_memory,
// enable_identity_memory, enable_summary_memory, enable_skill_memory,
// enable_llm_rerank, enable_llm_rewrite or allow_new_targets.
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

// environment are the options that the environment sets: CAIRN_MODE, CAIRN_TOP_K
// and CAIRN_WAIT.
func environment(get func(string) string) (out settings, err error) {
	out.mode = get("CAIRN_MODE")
	if text := get("CAIRN_TOP_K"); text != "" {
		if out.topK, err = strconv.Atoi(text); err != nil {
			return out, &Error{Code: "misconfigured", Message: "CAIRN_TOP_K is no number", Hint: "write it as 20"}
		}
	}
	if text := get("CAIRN_WAIT"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return out, &Error{Code: "misconfigured", Message: "CAIRN_WAIT is no time", Hint: "write it as 30s"}
		}
		out.wait = &d
	}
	return out, nil
}

// Target is who or what there are memories about.
type Target struct {
	Type   string `json:"memory_type"`
	Target string `json:"memory_target"`
}

// seconds is a wait as the API has it, nil when nothing says how long.
func (s settings) seconds() *int {
	if s.wait == nil {
		return nil
	}
	n := int(min(s.wait.Round(time.Second), 2*time.Minute) / time.Second)
	return &n
}

// body is a request with what the options add to it.
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

// call is a request with the options of one call over those of the client.
func (c *Client) call(ctx context.Context, method, path string, body, into any, once string) error {
	return c.send(ctx, request{method, path, body, once}, into)
}
