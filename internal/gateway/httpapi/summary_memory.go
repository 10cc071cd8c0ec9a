package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/service/memoryagent"
)

// SessionMessage is a message of a session: an OpenAI chat message with an optional
// time.
type SessionMessage struct {
	DistillMessage
	Timestamp string `json:"timestamp,omitempty" doc:"Time of the message, RFC 3339"`
}

// Trajectory is one attempt of an agent at a task.
type Trajectory struct {
	Messages []SessionMessage `json:"messages" minItems:"1"`
	Score    *float64         `json:"score,omitempty" minimum:"-1000000" maximum:"1000000" doc:"Score of the attempt; attempts with scores are compared"`
	TaskID   string           `json:"task_id,omitempty" maxLength:"200"`
	Metadata map[string]any   `json:"metadata,omitempty" doc:"Facts about the attempt that its messages do not contain"`
}

// MemoryTarget is the subject of memories.
type MemoryTarget struct {
	Type   string `json:"memory_type" enum:"identity,personal,procedural,tool,summary"`
	Target string `json:"memory_target" maxLength:"200" doc:"Name of the person, group or domain"`
}

// AgentOptions configures the agents of one request. An omitted option has the value of
// the workspace's settings.
type AgentOptions struct {
	Types          []string `json:"memory_types,omitempty" enum:"identity,personal,procedural,tool,summary,SkillMemory" doc:"Only memories of these types; SkillMemory applies to a fast search"`
	Multiple       *bool    `json:"enable_multiple,omitempty" doc:"Allow several items in one tool call"`
	ThinkingParams *bool    `json:"enable_thinking_params,omitempty" doc:"Add a thinking parameter to each tool call"`
	ThinkTool      *bool    `json:"add_think_tool,omitempty" doc:"Add a tool for thinking"`
	ToolMemory     *bool    `json:"enable_tool_memory,omitempty" doc:"Include guidelines of tools as a target"`
	IdentityMemory *bool    `json:"enable_identity_memory,omitempty" doc:"Include the agent's identity as a target"`
	SummaryMemory  *bool    `json:"enable_summary_memory,omitempty" doc:"Include digests of sessions in retrieval"`
}

func (o AgentOptions) choices() memoryagent.RequestOptions {
	c := memoryagent.RequestOptions{Multiple: o.Multiple, ThinkingParams: o.ThinkingParams, ThinkTool: o.ThinkTool,
		ToolMemory: o.ToolMemory, IdentityMemory: o.IdentityMemory, SummaryMemory: o.SummaryMemory}
	for _, t := range o.Types {
		c.Types = append(c.Types, memory.Type(t))
	}
	return c
}

// SummaryRequest is a session to remember: messages, a text, or attempts.
type SummaryRequest struct {
	AgentOptions
	OwnWorkspace
	StreamOption
	Metadata     map[string]any   `json:"metadata,omitempty" doc:"Facts about the session, up to 8 KiB; stored with the request and returned"`
	Query        string           `json:"query,omitempty" maxLength:"100000" doc:"A text to remember instead of messages"`
	Messages     []SessionMessage `json:"messages,omitempty" maxItems:"5000"`
	Trajectories []Trajectory     `json:"trajectories,omitempty" maxItems:"100" doc:"Attempts at a task, which are compared"`
	Targets      []MemoryTarget   `json:"targets,omitempty" maxItems:"50" doc:"Targets to register before the agent starts"`
	NewTargets   *bool            `json:"allow_new_targets,omitempty" doc:"Whether the agent may register new targets; default true"`
	RequestID    string           `json:"request_id,omitempty" maxLength:"200" doc:"ID of the request. Requests with the same ID return the same run. Same as the header Idempotency-Key"`
	Add          string           `json:"add,omitempty" enum:"auto,fast,agents" doc:"How the session is added: fast makes one model call for a session whose subject is known, agents lets the summarizer and its specialists work, auto chooses; default the setting memory.add"`
	Fresh        bool             `json:"fresh,omitempty" doc:"Run a known request again; its model calls are paid again"`
	Wait         int              `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for the end. With 0, the request returns when the session is stored, and a stream lasts until the end"`
}

// MemoryOperation is the result of one write by a tool call.
type MemoryOperation memoryagent.Operation

// MemoryTask is the work of a specialist on one target.
type MemoryTask struct {
	MemoryTarget
	Run        string            `json:"run"`
	Part       int               `json:"part,omitempty" doc:"Part of a long session, from 1"`
	Status     string            `json:"status"`
	Added      []string          `json:"added"`
	Updated    []string          `json:"updated"`
	Deleted    []string          `json:"deleted"`
	Operations []MemoryOperation `json:"operations"`
	Note       string            `json:"note,omitempty"`
	Error      string            `json:"error,omitempty"`
}

// SummaryReport is the result of remembering a session.
type SummaryReport struct {
	Status     string            `json:"status,omitempty" doc:"Result of an ended run: ok, no_memory, partial or failed"`
	Reason     string            `json:"reason,omitempty"`
	Detail     string            `json:"detail,omitempty"`
	Text       string            `json:"text,omitempty"`
	History    string            `json:"ref_memory_id,omitempty" doc:"ID of the stored session"`
	MetaAdded  []MemoryTarget    `json:"meta_added"`
	Digest     string            `json:"summary_id,omitempty"`
	Fallback   bool              `json:"fallback,omitempty" doc:"True if the agent wrote no digest; the digest is then the beginning of the session"`
	Tasks      []MemoryTask      `json:"tasks"`
	Operations []MemoryOperation `json:"operations"`
	Parts      int               `json:"parts,omitempty" doc:"Number of parts of a session that is too long for one request"`
	Add        string            `json:"add" enum:"fast,agents" doc:"How the session was added: fast is one model call"`
	Joined     int               `json:"joined,omitempty" doc:"Number of sessions that the model call has added, if it has several"`
	CallRun    string            `json:"call_run,omitempty" doc:"Run that made the model call, if it is another"`
	Dropped    map[string]int    `json:"dropped,omitempty" doc:"Number of facts that were not stored, by reason: unknown_handle, no_evidence, other_subject, no_content or repeated"`
	Steps      int               `json:"steps"`
	Usage      run.Usage         `json:"usage"`
	Metadata   map[string]any    `json:"metadata,omitempty" doc:"The metadata of the request"`
}

// MemoryRequest is a request to summarize or retrieve, with its result.
type MemoryRequest struct {
	RequestID string         `json:"request_id"`
	Kind      run.Kind       `json:"kind" enum:"summarize,retrieve"`
	Run       string         `json:"run"`
	State     run.Status     `json:"state" doc:"accepted, running or ended"`
	Success   bool           `json:"success" doc:"True if the run has ended without failures"`
	Answer    string         `json:"answer" doc:"The agent's final message"`
	Summary   *SummaryReport `json:"summary,omitempty" doc:"Result of a request to summarize"`
	Retrieved *MemoryAnswer  `json:"retrieved,omitempty" doc:"Result of an ended request to retrieve"`
	Links     RunLinks       `json:"links"`
}

type memoryRequestOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     MemoryRequest
}

func (g *Gateway) summaryRoutes() {
	body := content("application/json", schemaOf[MemoryRequest](g))
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/summary_memory",
		id:      "summaryMemory",
		tag:     tagMemory,
		scope:   access.Write,
		status:  http.StatusAccepted,
		summary: "Remember a session in long-term memory",
		about: "Responds when the session is stored durably; the run then continues without the client. With wait, " +
			"the request waits for the end; /v1/requests/{id} returns the result." + streamAbout +
			" A request with the same ID or, without an ID, with the same content returns the same run. " +
			"If too many adds are open, the request is refused with 429 and Retry-After before anything is stored.",
		responses: map[string]*huma.Response{
			"200": {Description: "The run has ended; contains the result. With stream, the events",
				Content: events[MemoryRequest](g)}, "202": {Description: "Accepted", Content: body}},
	}, g.summaryMemory)
	handle(g, route{method: http.MethodGet, path: "/v1/requests/{id}", id: "showMemoryRequest", tag: tagMemory,
		scope: access.Read, summary: "Get a request to summarize or retrieve"}, g.showMemoryRequest)
	handle(g, route{method: http.MethodPost, path: "/v1/requests/{id}/undo", id: "undoMemoryRequest", tag: tagMemory,
		scope: access.Write, bytes: smallBody, summary: "Undo the changes of a request to summarize, or of a run",
		about: "The ID is that of a request, or of a run of another kind, such as a turn. Changed memories get their " +
			"previous content back. Added memories are removed, as are the digest, the new targets and the change of " +
			"the identity. The session stays. Prompt memories that the run moved to long-term memory return. Entries " +
			"with later changes stay unchanged and have the status failed."}, g.undoMemoryRequest)
}

func (g *Gateway) summaryMemory(ctx context.Context, in *struct {
	IdempotencyKey
	Body SummaryRequest
}) (*repliedOutput, error) {
	if err := in.Body.OwnWorkspace.check(ctx); err != nil {
		return nil, err
	}
	from := asking(ctx)
	r := memoryagent.Request{Workspace: from.Workspace.ID, WorkspaceKey: from.Workspace.Key, ID: in.Body.RequestID,
		Query: in.Body.Query, KnownOnly: in.Body.NewTargets != nil && !*in.Body.NewTargets,
		Targets: targetsOf(in.Body.Targets), Choices: in.Body.choices(), Metadata: in.Body.Metadata,
		Fresh: in.Body.Fresh, Add: in.Body.Add, Spec: g.Options.TurnSpec()}
	var err error
	if r.ID, err = oneID(in.IdempotencyKey.Key, r.ID); err != nil {
		return nil, err
	}
	if r.Messages, err = sessionOf("messages", in.Body.Messages); err != nil {
		return nil, err
	}
	if r.Trajectories, err = attemptsOf(in.Body.Trajectories); err != nil {
		return nil, err
	}
	if in.Body.Stream { // before work starts
		if err := g.streamRoom(ctx); err != nil {
			return nil, err
		}
	}
	made, err := g.Progressive.Summarize(ctx, r)
	if err != nil {
		return nil, err
	}
	wait := time.Duration(in.Body.Wait) * time.Second
	if in.Body.Stream {
		return g.summaryStream(ctx, made, wait)
	}
	out, err := g.waited(ctx, made, wait)
	if err != nil {
		return nil, err
	}
	return &repliedOutput{Location: out.Location, Body: g.plain(out.Status, out.Body)}, nil
}

// summaryStream streams the progress of a run until it ends or the caller's wait is over.
// The run continues without the caller.
func (g *Gateway) summaryStream(ctx context.Context, r run.Run, wait time.Duration) (*repliedOutput, error) {
	w := watched{progress: g.agentProgress(r.Ref), report: func(ctx context.Context) (any, error) {
		out, err := g.memoryRequest(ctx, r.Ref)
		if err != nil {
			return nil, err
		}
		return out.Body, nil
	}}
	first, err := w.event(ctx)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		w.enough = after(wait)
	}
	return &repliedOutput{Location: g.runLinks(r.Ref.Run, r.WorkflowID).Self,
		Body: g.streamed("summaryMemory", "", w, first)}, nil
}

// waited returns the state of a run after its end or after the caller's wait.
func (g *Gateway) waited(ctx context.Context, r run.Run, wait time.Duration) (*memoryRequestOutput, error) {
	if wait > 0 {
		if _, err := g.await(ctx, r.Ref, wait, nil, func() (run.Status, error) {
			now, err := g.Progressive.RequestOf(ctx, r.Workspace, r.Key)
			return now.Status, err
		}); err != nil {
			return nil, err
		}
	}
	return g.memoryRequest(ctx, r.Ref)
}

func (g *Gateway) showMemoryRequest(ctx context.Context, in *struct {
	ID string `path:"id" maxLength:"200" doc:"The request's ID"`
}) (*memoryRequestOutput, error) {
	r, err := g.Progressive.RequestOf(ctx, workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out, err := g.memoryRequest(ctx, r.Ref)
	if err == nil {
		out.Status, out.Location = http.StatusOK, ""
	}
	return out, err
}

// UndoneRequest is the result of undoing a request.
type UndoneRequest struct {
	RequestID  string            `json:"request_id"`
	Operations []MemoryOperation `json:"operations" doc:"One entry per memory with the status undone, unchanged or failed; entries for a target or the identity have no memory_id"`
}

func (g *Gateway) undoMemoryRequest(ctx context.Context, in *struct {
	ID string `path:"id" maxLength:"200" doc:"The request's ID"`
	IdempotencyKey
}) (*bodyOf[UndoneRequest], error) {
	items, err := g.Progressive.Undo(ctx, person(ctx, in.IdempotencyKey), in.ID)
	out := &bodyOf[UndoneRequest]{UndoneRequest{in.ID, []MemoryOperation{}}}
	for _, i := range items {
		out.Body.Operations = append(out.Body.Operations,
			MemoryOperation{Tool: "undo", Status: i.Status, ID: i.ID, Code: i.Code, Message: i.Message})
	}
	return out, err
}

// memoryRequest reads a request of either kind.
func (g *Gateway) memoryRequest(ctx context.Context, ref run.Ref) (*memoryRequestOutput, error) {
	r, err := g.Progressive.Ended(ctx, ref)
	if err != nil && r.Ref.Run == "" {
		return nil, err
	}
	out := &memoryRequestOutput{Status: http.StatusAccepted,
		Body: MemoryRequest{RequestID: r.Key, Kind: r.Kind, Run: ref.Run, State: r.Status,
			Links: g.runLinks(ref.Run, r.WorkflowID)}}
	out.Location = out.Body.Links.Self
	if r.Status == run.Ended {
		out.Status = http.StatusOK
	}
	if r.Kind == run.Retrieve {
		if r.Status != run.Ended {
			return out, nil
		}
		a, err := g.Progressive.Answered(ctx, ref)
		if err != nil {
			return nil, err
		}
		out.Body.Retrieved = answerOf(a)
		out.Body.Success, out.Body.Answer = out.Body.Retrieved.Success, a.Text
		return out, nil
	}
	report, err := g.Progressive.Report(ctx, ref)
	if err != nil {
		return nil, err
	}
	out.Body.Summary, out.Body.Answer = summaryReport(report), report.Text
	out.Body.Success = report.Status == memoryagent.OK || report.Status == memoryagent.NoMemory
	return out, nil
}

func summaryReport(r memoryagent.Report) *SummaryReport {
	out := &SummaryReport{Status: r.Status, Reason: string(r.Reason), Detail: r.Detail, Text: r.Text,
		History: r.History, MetaAdded: []MemoryTarget{}, Digest: r.Digest, Fallback: r.Fallback,
		Tasks: []MemoryTask{}, Operations: operationsOf(r.Operations), Parts: r.Parts, Steps: r.Steps, Usage: r.Usage,
		Metadata: r.Metadata, Add: r.Add, Joined: r.Joined, CallRun: r.CallRun, Dropped: r.Dropped}
	for _, t := range r.MetaAdded {
		out.MetaAdded = append(out.MetaAdded, MemoryTarget{Type: string(t.Type), Target: t.Target})
	}
	for _, t := range r.Tasks {
		out.Tasks = append(out.Tasks, MemoryTask{MemoryTarget: MemoryTarget{Type: string(t.Type), Target: t.Target},
			Run: t.Run, Part: t.Part, Status: t.Status, Added: t.Added, Updated: t.Updated, Deleted: t.Deleted,
			Operations: operationsOf(t.Operations), Note: t.Note, Error: t.Error})
	}
	return out
}

func operationsOf(all []memoryagent.Operation) []MemoryOperation {
	out := []MemoryOperation{}
	for _, o := range all {
		out = append(out, MemoryOperation(o))
	}
	return out
}

func targetsOf(all []MemoryTarget) (out []memory.Task) {
	for _, t := range all {
		out = append(out, memory.Task{Type: memory.Type(t.Type), Target: t.Target})
	}
	return out
}

func attemptsOf(all []Trajectory) (out []memoryagent.Trajectory, err error) {
	for i, t := range all {
		one := memoryagent.Trajectory{Task: t.TaskID, Score: t.Score, Metadata: t.Metadata}
		if one.Messages, err = sessionOf(fmt.Sprintf("trajectories[%d].messages", i), t.Messages); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// sessionOf parses messages in the same way as all other routes.
func sessionOf(name string, messages []SessionMessage) ([]transcript.Message, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(messages)
	if err != nil {
		return nil, fmt.Errorf("encode the messages: %w", err)
	}
	return intake.Messages(name, raw)
}
