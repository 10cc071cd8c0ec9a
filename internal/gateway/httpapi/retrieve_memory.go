package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/memoryagent"
)

// RetrieveRequest is a question to long-term memory.
type RetrieveRequest struct {
	AgentOptions
	RefineOptions
	OwnWorkspace
	StreamOption
	Query        string           `json:"query,omitempty" maxLength:"1000" doc:"The question; default: the last user message in messages, else in trajectories"`
	Messages     []SessionMessage `json:"messages,omitempty" maxItems:"1000" doc:"Messages before the question"`
	Trajectories []Trajectory     `json:"trajectories,omitempty" maxItems:"100" doc:"Attempts at the task of the question. Agents and refining models read them before the messages"`
	Metadata     map[string]any   `json:"metadata,omitempty" doc:"Facts about the question, up to 8 KiB; stored with the request and returned"`
	Mode         string           `json:"mode,omitempty" enum:"fast,agentic,auto" doc:"fast runs one search. agentic lets an agent search, read and answer. auto (default) asks the agent if the search finds little"`
	Targets      []MemoryTarget   `json:"targets,omitempty" maxItems:"16" doc:"Targets of a fast search; default: all of memory"`
	Time         string           `json:"time_filter,omitempty" maxLength:"17" doc:"Limits a fast search to a day (20260301) or a range of days (20260301,20260331), by the time of the event or else of the memory"`
	TopK         int              `json:"top_k,omitempty" minimum:"1" maximum:"100" doc:"Maximum number of memories; default 20, or 5 with rerank, score filter or rewrite"`
	RequestID    string           `json:"request_id,omitempty" maxLength:"200" doc:"ID of a question to an agent. Requests with the same ID return the same answer. Same as the header Idempotency-Key"`
	Wait         *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for an agent, default 60; after that, a search answers. With 0 in mode agentic, the request returns at once, and /v1/requests/{id} has the answer later"`
}

// RefineOptions are the options for refining the result of a fast search.
type RefineOptions struct {
	Rerank     bool     `json:"enable_llm_rerank,omitempty" doc:"A model orders the results by relevance"`
	Filter     bool     `json:"enable_score_filter,omitempty" doc:"Results with a score below min_score are left out"`
	Rewrite    bool     `json:"enable_llm_rewrite,omitempty" doc:"A model writes the remaining results as one text, which is the answer"`
	MinScore   *float64 `json:"min_score,omitempty" minimum:"0" maximum:"1" doc:"Minimum score: with rerank, of the model's score, else a fraction of the best score; default 0.3"`
	DeadlineMS int      `json:"deadline_ms,omitempty" minimum:"100" maximum:"60000" doc:"Time limit of rerank and rewrite together, in milliseconds. After it, the response has the plain result and a note. Default: the setting memory.deadline_ms, else 4000"`
	Skills     *bool    `json:"enable_skill_memory,omitempty" doc:"A fast search over all of memory also returns skills, as memory_type SkillMemory; default true"`
}

func (o RefineOptions) refine() memoryagent.Refine {
	return memoryagent.Refine{Rerank: o.Rerank, Filter: o.Filter, Rewrite: o.Rewrite, MinScore: o.MinScore,
		Deadline: time.Duration(o.DeadlineMS) * time.Millisecond}
}

// OwnWorkspace lets a request name the workspace of its key.
type OwnWorkspace struct {
	WorkspaceID string `json:"workspace_id,omitempty" maxLength:"200" doc:"The key's workspace; no other value is allowed"`
}

// check refuses any other workspace, because a key opens one workspace.
func (o OwnWorkspace) check(ctx context.Context) error {
	if own := asking(ctx).Workspace.Name; o.WorkspaceID != "" && o.WorkspaceID != own {
		return fault.New(fault.OutOfScope, "workspace_id does not match the workspace of the key",
			"omit workspace_id, or use a key of that workspace")
	}
	return nil
}

// FoundMemory is a memory or a skill in a search result.
type FoundMemory memoryagent.Found

// FoundTurn is a message of a stored conversation.
type FoundTurn memoryagent.Turn

// MemoryAnswer is the response to a question.
type MemoryAnswer struct {
	Answer   string        `json:"answer" doc:"The agent's answer, or the text of enable_llm_rewrite; empty for a plain search"`
	Success  bool          `json:"success" doc:"Whether relevant memories were found, or none were needed"`
	Mode     string        `json:"mode" enum:"fast,agentic" doc:"The mode that produced the answer"`
	Status   string        `json:"status" doc:"ok, no_retrieval_needed, no_relevant_memory, partial or failed; accepted while there is no answer"`
	Memories []FoundMemory `json:"memories"`
	Turns    []FoundTurn   `json:"turns,omitempty" doc:"If no memory matches, up to 5 messages of stored conversations that do. With targets, only what the targets said. Questions for certain memory types get none"`
	Sessions []string      `json:"sessions,omitempty" doc:"IDs of the transcripts that the agent read"`
	Note     string        `json:"note,omitempty" doc:"Why another mode answered, what was not refined, or that turns are shown because no memory matches"`
	Run      string        `json:"run,omitempty" doc:"ID of the agent's run"`
	Request  string        `json:"request_id,omitempty" doc:"ID of the request for /v1/requests/{id}"`
	Links    *RunLinks     `json:"links,omitempty"`

	Metadata map[string]any `json:"metadata,omitempty" doc:"The metadata of the request"`
}

type memoryAnswerOutput struct {
	Status int
	Body   MemoryAnswer
}

func (g *Gateway) retrieveRoutes() {
	body := content("application/json", schemaOf[MemoryAnswer](g))
	handle(g, route{method: http.MethodPost, path: "/v1/retrieve_memory", id: "retrieveMemory", tag: tagMemory,
		scope: access.Read, status: http.StatusOK, bytes: smallBody,
		summary: "Query long-term memory",
		about: "Mode fast needs no model and no Temporal, except for rerank and rewrite. It finds " +
			"memories and skills. If no memory matches, the answer has turns of conversations that do. If an " +
			"agent is not done in time, a search answers; the agent's run " +
			"continues, and /v1/requests/{id} has its answer." + streamAbout,
		responses: map[string]*huma.Response{
			"200": {Description: "The answer; with stream, the events", Content: events[MemoryAnswer](g)},
			"202": {Description: "Accepted, with wait 0", Content: body}}}, g.retrieveMemory)
}

type retrieveInput struct {
	IdempotencyKey
	Body RetrieveRequest
}

func (g *Gateway) retrieveMemory(ctx context.Context, in *retrieveInput) (*repliedOutput, error) {
	q, err := in.question(ctx, g)
	if err != nil {
		return nil, err
	}
	wait := usualWait
	if in.Body.Wait != nil {
		wait = time.Duration(*in.Body.Wait) * time.Second
	}
	if in.Body.Stream {
		return g.retrieveStream(ctx, q, wait)
	}
	out, err := g.retrieved(ctx, q, wait)
	if err != nil {
		return nil, err
	}
	return &repliedOutput{Body: g.plain(out.Status, out.Body)}, nil
}

// question converts the request.
func (in *retrieveInput) question(ctx context.Context, g *Gateway) (q memoryagent.Question, err error) {
	if err := in.Body.OwnWorkspace.check(ctx); err != nil {
		return q, err
	}
	from := asking(ctx)
	q = memoryagent.Question{Workspace: from.Workspace.ID, WorkspaceKey: from.Workspace.Key, Query: in.Body.Query,
		Mode: in.Body.Mode, Targets: targetsOf(in.Body.Targets), Choices: in.Body.choices(),
		TimeFilter: in.Body.Time, Refine: in.Body.refine(), TopK: in.Body.TopK, Metadata: in.Body.Metadata,
		Spec: g.Options.TurnSpec()}
	q.Choices.SkillMemory = in.Body.Skills
	if q.ID, err = oneID(in.IdempotencyKey.Key, in.Body.RequestID); err != nil {
		return q, err
	}
	if q.Messages, err = sessionOf("messages", in.Body.Messages); err != nil {
		return q, err
	}
	q.Trajectories, err = attemptsOf(in.Body.Trajectories)
	return q, err
}

// retrieved returns the answer to a question, waiting up to wait for an agent.
func (g *Gateway) retrieved(ctx context.Context, q memoryagent.Question, wait time.Duration) (*memoryAnswerOutput,
	error) {
	if wait == 0 && q.Mode == memoryagent.Agentic {
		return g.asked(ctx, q)
	}
	waiting, cancel := context.WithTimeout(ctx, max(wait, time.Second))
	defer cancel()
	defer context.AfterFunc(g.closing, cancel)()
	answer, err := g.Progressive.Retrieve(waiting, q)
	if err != nil {
		return nil, err
	}
	out := &memoryAnswerOutput{http.StatusOK, *answerOf(answer)}
	if answer.Run == "" {
		return out, nil
	}
	r, err := g.Progressive.Ended(ctx, run.Ref{Workspace: q.Workspace, Run: answer.Run})
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		return nil, err
	}
	links := g.runLinks(answer.Run, r.WorkflowID)
	out.Body.Request, out.Body.Links = r.Key, &links
	return out, nil
}

// retrieveStream streams the progress of the agent, and then the answer. Errors in the
// request, and answers from a search alone, are known before the first event.
func (g *Gateway) retrieveStream(ctx context.Context, q memoryagent.Question, wait time.Duration) (*repliedOutput,
	error) {
	var (
		answer *memoryAnswerOutput
		failed error
		begun  = make(chan run.Ref, 1)
		done   = make(chan struct{}) // closed when answer and failed are set
	)
	if err := g.streamRoom(ctx); err != nil {
		return nil, err
	}
	q.Begun = func(ref run.Ref) { begun <- ref }
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				failed = fmt.Errorf("retrieval panicked: %v\n%s", cause, debug.Stack())
			}
		}()
		answer, failed = g.retrieved(ctx, q, wait)
	}()
	var progress func(context.Context) (any, bool, error)
	select {
	case ref := <-begun:
		progress = g.agentProgress(ref)
	case <-done:
		if failed != nil {
			return nil, failed
		}
	}
	w := watched{news: done, report: func(context.Context) (any, error) {
		if failed != nil {
			return nil, failed
		}
		return answer.Body, nil
	}, progress: func(ctx context.Context) (any, bool, error) {
		select {
		case <-done:
			return nil, true, nil
		default: // a run may end before its answer is read, and a search may answer before the run ends
			p, _, err := progress(ctx)
			return p, false, err
		}
	}}
	first, err := w.event(ctx)
	if err != nil {
		return nil, err
	}
	return &repliedOutput{Body: g.streamed("retrieveMemory", "", w, first)}, nil
}

// asked returns as soon as a question is stored durably.
func (g *Gateway) asked(ctx context.Context, q memoryagent.Question) (*memoryAnswerOutput, error) {
	r, err := g.Progressive.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	links := g.runLinks(r.Ref.Run, r.WorkflowID)
	return &memoryAnswerOutput{http.StatusAccepted,
		MemoryAnswer{Mode: memoryagent.Agentic, Status: string(run.Accepted), Memories: []FoundMemory{}, Run: r.Ref.Run,
			Request: r.Key, Links: &links, Metadata: q.Metadata}}, nil
}

func answerOf(a memoryagent.Answer) *MemoryAnswer {
	out := &MemoryAnswer{Answer: a.Text, Success: a.Status != memoryagent.Failed && a.Status != memoryagent.Partial &&
		a.Status != memoryagent.NoRelevant, Mode: a.Mode, Status: a.Status, Memories: []FoundMemory{},
		Sessions: a.Sessions, Note: a.Note, Run: a.Run, Metadata: a.Metadata}
	for _, m := range a.Memories {
		out.Memories = append(out.Memories, FoundMemory(m))
	}
	for _, t := range a.Turns {
		out.Turns = append(out.Turns, FoundTurn(t))
	}
	return out
}

// oneID returns the ID of a request, which the header and the body may both contain.
func oneID(header, body string) (string, error) {
	if header != "" && body != "" && header != body {
		return "", fault.New(fault.InvalidArgument, "Idempotency-Key and request_id differ", "send only one of them")
	}
	if header != "" {
		return header, nil
	}
	return body, nil
}
