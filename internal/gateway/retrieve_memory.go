package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/fault"
	"cairn/internal/host"
	"cairn/internal/progressive"
	"cairn/internal/run"
)

// RetrieveRequest asks long-term memory.
type RetrieveRequest struct {
	AgentOptions
	RefineOptions
	OwnWorkspace
	Query     string           `json:"query,omitempty" maxLength:"1000" doc:"When left out, what the user said last in messages"`
	Messages  []SessionMessage `json:"messages,omitempty" maxItems:"1000" doc:"What was said before the question"`
	Mode      string           `json:"mode,omitempty" enum:"fast,agentic,auto" doc:"fast is one search; agentic has an agent look, read and say what it found; auto, when left out, asks the agent when the search finds little"`
	Targets   []MemoryTarget   `json:"targets,omitempty" maxItems:"16" doc:"That a fast search is about; all of memory when left out"`
	Time      string           `json:"time_filter,omitempty" maxLength:"17" doc:"Of a fast search: a day as 20260301, or a first and a last day as 20260301,20260331, by when it happened or else was remembered"`
	TopK      int              `json:"top_k,omitempty" minimum:"1" maximum:"100" doc:"Memories at most; 20 when left out, 5 with rerank, score filter or rewrite"`
	RequestID string           `json:"request_id,omitempty" maxLength:"200" doc:"The same id is the same question to an agent; as the header Idempotency-Key"`
	Wait      *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for an agent, 60 when left out; after them a search answers. 0, in mode agentic, answers at once, and /v1/requests/{id} has the answer later"`
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

func (o RefineOptions) refine() progressive.Refine {
	return progressive.Refine{Rerank: o.Rerank, Filter: o.Filter, Rewrite: o.Rewrite, MinScore: o.MinScore, Deadline: time.Duration(o.DeadlineMS) * time.Millisecond}
}

// OwnWorkspace lets a request name the workspace of its key.
type OwnWorkspace struct {
	WorkspaceID string `json:"workspace_id,omitempty" maxLength:"200" doc:"The key's own workspace, which is used when it is left out"`
}

// check refuses any other workspace: a key opens one.
func (o OwnWorkspace) check(ctx context.Context) error {
	if own := asking(ctx).Workspace.Name; o.WorkspaceID != "" && o.WorkspaceID != own {
		return fault.New(fault.OutOfScope, "the key is not one of the workspace that workspace_id names", "leave workspace_id out, or use a key of that workspace")
	}
	return nil
}

// FoundMemory is a memory or a skill that answers a question.
type FoundMemory progressive.Found

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
}

type memoryAnswerOutput struct {
	Status int
	Body   MemoryAnswer
}

func (g *Gateway) retrieveRoutes() {
	body := content("application/json", schemaOf[MemoryAnswer](g))
	handle(g, route{method: http.MethodPost, path: "/v1/retrieve_memory", id: "retrieveMemory", tag: tagMemory, scope: Read, status: http.StatusOK, bytes: smallBody,
		summary:   "Ask long-term memory",
		about:     "Mode fast needs neither a model nor Temporal, unless it is to rerank or rewrite. It finds skills beside memories. An agent that is not done in time is answered for by a search; its run goes on, and /v1/requests/{id} has its answer.",
		responses: map[string]*huma.Response{"200": {Description: "The answer", Content: body}, "202": {Description: "Accepted, with wait 0", Content: body}}}, g.retrieveMemory)
}

func (g *Gateway) retrieveMemory(ctx context.Context, in *struct {
	OnceKey
	Body RetrieveRequest
}) (*memoryAnswerOutput, error) {
	if err := in.Body.OwnWorkspace.check(ctx); err != nil {
		return nil, err
	}
	from := asking(ctx)
	q := progressive.Question{Workspace: from.Workspace.ID, WorkspaceKey: from.Workspace.Key, Query: in.Body.Query, Mode: in.Body.Mode, Targets: targetsOf(in.Body.Targets), Choices: in.Body.choices(),
		TimeFilter: in.Body.Time, Refine: in.Body.refine(), TopK: in.Body.TopK, Spec: host.TurnSpec(g.Config)}
	q.Choices.SkillMemory = in.Body.Skills
	var err error
	if q.ID, err = oneID(in.IdempotencyKey, in.Body.RequestID); err != nil {
		return nil, err
	}
	if q.Messages, err = sessionOf("messages", in.Body.Messages); err != nil {
		return nil, err
	}
	wait := usualWait
	if in.Body.Wait != nil {
		wait = time.Duration(*in.Body.Wait) * time.Second
	}
	if wait == 0 && q.Mode == progressive.Agentic {
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
	r, err := g.Progressive.Await(ctx, run.Ref{Workspace: from.Workspace.ID, Run: answer.Run})
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		return nil, err
	}
	links := g.runLinks(answer.Run, r.WorkflowID)
	out.Body.Request, out.Body.Links = r.Key, &links
	return out, nil
}

// asked answers as soon as a question is durable.
func (g *Gateway) asked(ctx context.Context, q progressive.Question) (*memoryAnswerOutput, error) {
	r, err := g.Progressive.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	links := g.runLinks(r.Ref.Run, r.WorkflowID)
	return &memoryAnswerOutput{http.StatusAccepted, MemoryAnswer{Mode: progressive.Agentic, Status: string(run.Accepted), Memories: []FoundMemory{}, Run: r.Ref.Run, Request: r.Key, Links: &links}}, nil
}

func answerOf(a progressive.Answer) *MemoryAnswer {
	out := &MemoryAnswer{Answer: a.Text, Success: a.Status != progressive.Failed && a.Status != progressive.Partial && a.Status != progressive.NoRelevant, Mode: a.Mode, Status: a.Status, Memories: []FoundMemory{},
		Sessions: a.Sessions, Note: a.Note, Run: a.Run}
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
