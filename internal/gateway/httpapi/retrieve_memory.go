package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/apikey"
	"cairn/internal/service/memoryagent"
)

// RetrieveRequest asks long-term memory.
type RetrieveRequest struct {
	AgentOptions
	RefineOptions
	OwnWorkspace
	StreamOption
	Query        string           `json:"query,omitempty" maxLength:"1000" doc:"When left out, what the user said last in messages, else in trajectories"`
	Messages     []SessionMessage `json:"messages,omitempty" maxItems:"1000" doc:"What was said before the question"`
	Trajectories []Trajectory     `json:"trajectories,omitempty" maxItems:"100" doc:"Attempts at the task that the question is about; an agent, and a model that refines, are shown them before the messages"`
	Metadata     map[string]any   `json:"metadata,omitempty" doc:"Facts about the question; kept with the request and given back, 8 KiB at most"`
	Mode         string           `json:"mode,omitempty" enum:"fast,agentic,auto" doc:"fast is one search; agentic has an agent look, read and say what it found; auto, when left out, asks the agent when the search finds little"`
	Targets      []MemoryTarget   `json:"targets,omitempty" maxItems:"16" doc:"That a fast search is about; all of memory when left out"`
	Time         string           `json:"time_filter,omitempty" maxLength:"17" doc:"Of a fast search: a day as 20260301, or a first and a last day as 20260301,20260331, by when it happened or else was remembered"`
	TopK         int              `json:"top_k,omitempty" minimum:"1" maximum:"100" doc:"Memories at most; 20 when left out, 5 with rerank, score filter or rewrite"`
	RequestID    string           `json:"request_id,omitempty" maxLength:"200" doc:"The same id is the same question to an agent; as the header Idempotency-Key"`
	Wait         *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for an agent, 60 when left out; after them a search answers. 0, in mode agentic, answers at once, and /v1/requests/{id} has the answer later"`
}

// RefineOptions are what is done with what a fast search found.
type RefineOptions struct {
	Rerank     bool     `json:"enable_llm_rerank,omitempty" doc:"A model orders what was found by how well it answers"`
	Filter     bool     `json:"enable_score_filter,omitempty" doc:"What scores below min_score is left out"`
	Rewrite    bool     `json:"enable_llm_rewrite,omitempty" doc:"A model writes what is left as one text for the question, which is the answer"`
	MinScore   *float64 `json:"min_score,omitempty" minimum:"0" maximum:"1" doc:"Of a model's score, else a share of the best one's score; 0.3 when left out"`
	DeadlineMS int      `json:"deadline_ms,omitempty" minimum:"100" maximum:"60000" doc:"Of rerank and rewrite together; after it the plain answer is given, with a note. The setting memory.deadline_ms, else 4000, when left out"`
	Skills     *bool    `json:"enable_skill_memory,omitempty" doc:"A fast search over all of memory finds skills, too, as memory_type SkillMemory; true when left out"`
}

func (o RefineOptions) refine() memoryagent.Refine {
	return memoryagent.Refine{Rerank: o.Rerank, Filter: o.Filter, Rewrite: o.Rewrite, MinScore: o.MinScore,
		Deadline: time.Duration(o.DeadlineMS) * time.Millisecond}
}

// OwnWorkspace lets a request name the workspace of its key.
type OwnWorkspace struct {
	WorkspaceID string `json:"workspace_id,omitempty" maxLength:"200" doc:"The key's own workspace, which is used when it is left out"`
}

// check refuses any other workspace: a key opens one.
func (o OwnWorkspace) check(ctx context.Context) error {
	if own := asking(ctx).Workspace.Name; o.WorkspaceID != "" && o.WorkspaceID != own {
		return fault.New(fault.OutOfScope, "the key is not one of the workspace that workspace_id names",
			"leave workspace_id out, or use a key of that workspace")
	}
	return nil
}

// FoundMemory is a memory or a skill that answers a question.
type FoundMemory memoryagent.Found

// MemoryAnswer is what memory has to say.
type MemoryAnswer struct {
	Answer   string        `json:"answer" doc:"What an agent said it found, or the text of enable_llm_rewrite; empty for a plain search"`
	Success  bool          `json:"success" doc:"Something relevant was found, or nothing was needed"`
	Mode     string        `json:"mode" enum:"fast,agentic" doc:"That answered"`
	Status   string        `json:"status" doc:"ok, no_retrieval_needed, no_relevant_memory, partial or failed; accepted before there is an answer"`
	Memories []FoundMemory `json:"memories"`
	Sessions []string      `json:"sessions,omitempty" doc:"Transcripts that were read"`
	Note     string        `json:"note,omitempty" doc:"Why it was not the mode that was asked for, or what was not refined"`
	Run      int64         `json:"run,omitempty" doc:"Of the agent"`
	Request  string        `json:"request_id,omitempty" doc:"Under which /v1/requests/{id} tells of the agent's run"`
	Links    *RunLinks     `json:"links,omitempty"`

	Metadata map[string]any `json:"metadata,omitempty" doc:"As it came with the question"`
}

type memoryAnswerOutput struct {
	Status int
	Body   MemoryAnswer
}

func (g *Gateway) retrieveRoutes() {
	body := content("application/json", schemaOf[MemoryAnswer](g))
	handle(g, route{method: http.MethodPost, path: "/v1/retrieve_memory", id: "retrieveMemory", tag: tagMemory,
		scope: apikey.Read, status: http.StatusOK, bytes: smallBody,
		summary: "Ask long-term memory",
		about: "Mode fast needs neither a model nor Temporal, unless it is to rerank or rewrite. It finds " +
			"skills beside memories. An agent that is not done in time is answered for by a search; its run goes " +
			"on, and /v1/requests/{id} has its answer." + streamAbout,
		responses: map[string]*huma.Response{
			"200": {Description: "The answer. With stream, the events", Content: events[MemoryAnswer](g)},
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

// question is what a request asks.
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

// retrieved answers a question within as long as its caller waits.
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
	if answer.Run == 0 {
		return out, nil
	}
	r, err := g.Progressive.Await(ctx, run.Ref{Workspace: q.Workspace, Run: answer.Run})
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		return nil, err
	}
	links := g.runLinks(answer.Run, r.WorkflowID)
	out.Body.Request, out.Body.Links = r.Key, &links
	return out, nil
}

// retrieveStream tells how far the agent is that looks, and then the answer. What
// is wrong with a request, or answered by a search alone, is known before the
// first event.
func (g *Gateway) retrieveStream(ctx context.Context, q memoryagent.Question, wait time.Duration) (*repliedOutput,
	error) {
	var (
		answer *memoryAnswerOutput
		failed error
		begun  = make(chan run.Ref, 1)
		done   = make(chan struct{}) // after it, answer and failed are there to be read
	)
	q.Begun = func(ref run.Ref) { begun <- ref }
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				failed = fmt.Errorf("a question panicked: %v\n%s", cause, debug.Stack())
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

// asked answers as soon as a question is durable.
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
	return out
}

// oneID is the id of a request, which a header and the body may both give.
func oneID(header, body string) (string, error) {
	if header != "" && body != "" && header != body {
		return "", fault.New(fault.InvalidArgument, "the Idempotency-Key and the request_id differ", "send one of them")
	}
	if header != "" {
		return header, nil
	}
	return body, nil
}
