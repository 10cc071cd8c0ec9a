package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Found is a memory or a skill in the result of Retrieve.
type Found struct {
	ID      string  `json:"memory_id"`
	Type    string  `json:"memory_type"`
	Target  string  `json:"memory_target"`
	Content string  `json:"content"`
	Score   float64 `json:"score"`         // higher is better; comparable within one result
	History string  `json:"ref_memory_id"` // session that the memory was last extracted from

	// These are set for a skill. Its Type is SkillMemory, and its Content is its description.
	Name    string `json:"name"`
	Version int    `json:"version"`
	View    string `json:"view"` // API path of the complete skill
}

// Answer is the result of Retrieve.
type Answer struct {
	Answer   string  `json:"answer"`     // answer of an agent, or the text of enable_llm_rewrite; else empty
	Success  bool    `json:"success"`    // relevant memories were found, or none were needed
	Mode     string  `json:"mode"`       // mode that produced the answer: fast or agentic
	Status   string  `json:"status"`     // ok, no_retrieval_needed, no_relevant_memory, partial, failed or accepted
	Memories []Found `json:"memories"`   // the best first
	Note     string  `json:"note"`       // why another mode answered, or what was not refined
	Request  string  `json:"request_id"` // ID for Client.Request if an agent was asked

	Metadata map[string]any `json:"metadata"` // metadata of the question
}

// Retrieve queries long-term memory. If query is empty, the question is the last user message
// of [Messages], or else of [Trajectories]. [Mode] selects a search (fast), an agent (agentic),
// or an agent only if the search finds little (auto, the default).
//
// [TopK] bounds the memories: the default is 20, the maximum is 100. [Wait] bounds the wait for
// an agent: the default is 60 seconds. If the agent takes longer, a search answers, and
// [Client.Request] has the agent's answer later. With Wait(0) and mode agentic, the status is
// accepted.
//
// Options of a fast search: [Targets], [Types], [Days], [MinScore] and [Deadline].
func (c *Client) Retrieve(ctx context.Context, query string, options ...Option) (out Answer, err error) {
	s := c.usual.with(options)
	body := s.body(map[string]any{})
	if query != "" {
		body["query"] = query
	}
	if len(s.messages) > 0 {
		body["messages"] = s.messages
	}
	if len(s.trajectories) > 0 {
		body["trajectories"] = s.trajectories
	}
	if len(s.facts) > 0 {
		body["metadata"] = s.facts
	}
	if s.mode != "" {
		body["mode"] = s.mode
	}
	if s.topK > 0 {
		body["top_k"] = s.topK
	}
	if s.days != "" {
		body["time_filter"] = s.days
	}
	if s.least != nil {
		body["enable_score_filter"], body["min_score"] = true, *s.least
	}
	if s.within > 0 {
		body["deadline_ms"] = s.within.Milliseconds()
	}
	return out, c.call(ctx, http.MethodPost, "/v1/retrieve_memory", body, &out, "")
}

// Result is the result of a search.
type Result struct {
	Kind   string  `json:"kind"` // turn, memory or skill
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Score  float64 `json:"score"`  // higher is better; comparable within one result
	Type   string  `json:"type"`   // type of a memory
	Target string  `json:"target"` // target of a memory
}

// Search searches turns, memories and skills and returns up to [TopK] results (default 10, at
// most 50), the best first. With [Types] it searches only memories.
func (c *Client) Search(ctx context.Context, query string, options ...Option) ([]Result, error) {
	s := c.usual.with(options)
	q := url.Values{"q": {query}, "kinds": {"turn,memory,skill"}, "limit": {strconv.Itoa(min(cmp.Or(s.topK, 10), 50))}}
	if len(s.types) > 0 {
		q["kinds"], q["types"] = []string{"memory"}, []string{strings.Join(s.types, ",")}
	}
	var out struct {
		Found []Result `json:"found"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/search?"+q.Encode(), nil, &out, "")
	return out.Found, err
}
