package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
)

type (
	// RunTimeline is what a run did, in the order of time.
	RunTimeline inspect.Timeline
	// ConversationTurn is a turn with what it was shown and what it wrote.
	ConversationTurn readmodel.Turn
	// EvidenceExcerpt is a part of a conversation that is evidence.
	EvidenceExcerpt inspect.Excerpt
	// MemoryView is a run that was shown a memory.
	MemoryView readmodel.MemoryView
	// BrowsedMemory is a memory in a list of all types.
	BrowsedMemory readmodel.Memory
	// ModelUsage is the usage of one model by one kind of run on one local day.
	ModelUsage readmodel.Usage
	// SkillUse is a use of a skill, with its outcome.
	SkillUse readmodel.SkillUse
	// BankScore summarizes the scores of the decisions of a bank on one local day.
	BankScore inspect.Score
	// OutboxTask is stored work that is to be delivered.
	OutboxTask readmodel.OutboxTask
	// ConsoleSession is a browser that is signed in to the web console.
	ConsoleSession access.ConsoleSession
)

// RunCallDetail is a model call with its request and reply. Secrets are replaced.
type RunCallDetail struct {
	Step     string          `json:"step"`
	Round    int             `json:"round"`
	State    run.CallState   `json:"state"`
	Model    string          `json:"model"`
	Earlier  int             `json:"earlier_messages" doc:"Messages before these that the round before has, too"`
	Messages []ExchangedText `json:"messages"`
	Tools    []string        `json:"tools" doc:"Tools that the request offers"`
	Reply    *ExchangedText  `json:"reply,omitempty"`
	Rejected bool            `json:"rejected,omitempty" doc:"The reply was not valid; the next round says why"`
	Error    string          `json:"error,omitempty"`
}

// ExchangedText is a message of a request, or its reply.
type ExchangedText struct {
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Calls   []ExchangedCall `json:"tool_calls,omitempty"`
}

// ExchangedCall is a tool call in a message.
type ExchangedCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// TurnList holds turns in their order.
type TurnList struct {
	Turns []ConversationTurn `json:"turns"`
}

// EvidenceList holds the beginnings of the parts of conversations that are evidence.
type EvidenceList struct {
	Evidence []EvidenceExcerpt `json:"evidence"`
}

// MemoryViewList is a page of the runs that were shown a memory, the latest first.
type MemoryViewList struct {
	Views      []MemoryView `json:"views"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BrowsedMemories is a page of memories, the newest first.
type BrowsedMemories struct {
	Memories   []BrowsedMemory `json:"memories"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// UsageList holds the usage, the latest day first.
type UsageList struct {
	Usage []ModelUsage `json:"usage"`
}

// OutboxList is a page of the tasks of the outbox, those that fail most first, then the oldest.
type OutboxList struct {
	Tasks      []OutboxTask `json:"tasks"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// ConsoleSessionList holds the sessions of the web console, the latest first.
type ConsoleSessionList struct {
	Sessions []ConsoleSession `json:"sessions"`
}

func (g *Gateway) exploreRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/runs/{id}/timeline", id: "runTimeline", tag: tagRuns,
		scope: access.Read, summary: "Get the model calls, tool calls and child runs of a run with their times"},
		g.runTimeline)
	handle(g, route{method: http.MethodGet, path: "/v1/runs/{id}/call", id: "showRunCall", tag: tagRuns,
		scope: access.Read, summary: "Get the request and the reply of a model call",
		about: "Secrets are replaced with placeholders. `unmasked` shows them: it needs the scope `admin` and is " +
			"recorded in the audit log."}, g.showRunCall)
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/conversations/{id}/turns",
		id:      "listTurns",
		tag:     tagTurns,
		scope:   access.Read,
		summary: "List the turns of a conversation with what they were shown and wrote",
	}, g.listTurns)
	handle(g, route{method: http.MethodGet, path: "/v1/memories/{id}/evidence", id: "memoryEvidence", tag: tagMemory,
		scope: access.Read, summary: "Get the messages from which a memory was written"}, g.memoryEvidence)
	handle(g, route{method: http.MethodGet, path: "/v1/memories/{id}/views", id: "memoryViews", tag: tagMemory,
		scope: access.Read, summary: "List the runs that were shown a memory, the latest first"}, g.memoryViews)
	handle(g, route{method: http.MethodGet, path: "/v1/memories/browse", id: "browseMemories", tag: tagMemory,
		scope: access.Read, summary: "List memories of all types, or what was known at a time",
		about: "With as_of, the list has the memories that were active at that time, with their content of then. " +
			"Erased memories are missing."}, g.browseMemories)
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/evidence", id: "skillEvidence", tag: tagSkills,
		scope: access.Read, summary: "Get the messages from which a version of a skill was written"}, g.skillEvidence)
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/uses", id: "skillUses", tag: tagSkills,
		scope: access.Read, summary: "List the uses of a skill with their outcomes, the latest first"}, g.skillUses)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/scores", id: "bankScores", tag: tagBanks,
		scope: access.Read, summary: "Get the scores of the decisions of a bank by local day, of 90 days",
		about: "Scores of the active policy and of policies on trial, with 95 % confidence intervals."}, g.bankScores)
	handle(g, route{method: http.MethodGet, path: "/v1/usage", id: "showUsage", tag: tagRuns, scope: access.Read,
		summary: "Sum the model calls by local day, model and kind of run"}, g.showUsage)
	handle(g, route{method: http.MethodGet, path: "/v1/outbox", id: "listOutbox", tag: tagRuns, scope: access.Read,
		summary: "List stored work that waits for delivery, what fails most first, then the oldest"}, g.listOutbox)
	handle(g, route{method: http.MethodPost, path: "/v1/outbox/{id}/retry", id: "retryOutboxTask", tag: tagRuns,
		scope: access.Write, status: http.StatusNoContent, summary: "Try an outbox task now"}, g.retryOutboxTask)
	handle(g, route{method: http.MethodGet, path: "/v1/sessions", id: "listConsoleSessions", tag: tagKeys,
		scope: access.Admin, summary: "List the browsers that are signed in to the web console"}, g.listConsoleSessions)
	handle(g, route{method: http.MethodDelete, path: "/v1/sessions/{id}", id: "endConsoleSession", tag: tagKeys,
		scope: access.Admin, status: http.StatusNoContent, summary: "End a session of the web console"},
		g.endConsoleSession)
}

func (g *Gateway) runTimeline(ctx context.Context, in *RunPath) (*bodyOf[RunTimeline], error) {
	t, err := g.Explore.Timeline(ctx, run.Ref{Workspace: workspace(ctx), Run: in.ID})
	return &bodyOf[RunTimeline]{RunTimeline(t)}, err
}

func (g *Gateway) showRunCall(ctx context.Context, in *struct {
	RunPath
	Step  string `query:"step" maxLength:"300" doc:"Step of the call, as in the calls of the run"`
	Round int    `query:"round" minimum:"0" maximum:"1000" doc:"0 for the first request, then one more for each repair"`
	// Unmasked needs the scope admin.
	Unmasked bool `query:"unmasked" doc:"Show secrets; needs the scope admin"`
}) (*bodyOf[RunCallDetail], error) {
	ref := run.Ref{Workspace: workspace(ctx), Run: in.ID}
	read := g.Runs.Exchanges
	if in.Unmasked {
		if !access.Admin.Allows(asking(ctx).Scopes) {
			return nil, fault.New(fault.OutOfScope, "scope admin required to show secrets",
				"use a key that has the scope, or leave unmasked out")
		}
		if err := g.Audit.Record(ctx, ref.Workspace, audit.PromptUnmask,
			fmt.Sprintf("run %s, step %.80s, round %d", in.ID, in.Step, in.Round)); err != nil {
			return nil, err
		}
		read = g.Runs.Unmasked
	}
	all, err := read(ctx, ref, in.Step)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Key.Round == in.Round {
			return &bodyOf[RunCallDetail]{callDetail(e)}, nil
		}
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("run %s has no round %d of step %.80q", in.ID, in.Round, in.Step),
		"get the run for the rounds of its calls")
}

func callDetail(e inspect.Exchange) RunCallDetail {
	out := RunCallDetail{Step: e.Key.Step, Round: e.Key.Round, State: e.State, Model: e.Model, Earlier: e.Earlier,
		Messages: []ExchangedText{}, Tools: append([]string{}, e.Tools...), Rejected: e.Rejected, Error: e.Error}
	for _, m := range e.Messages {
		out.Messages = append(out.Messages, ExchangedText{string(m.Role), m.Content, exchangedCalls(m.Calls)})
	}
	if e.Reply != nil {
		out.Reply = &ExchangedText{"assistant", e.Reply.Text, exchangedCalls(e.Reply.Calls)}
	}
	return out
}

func exchangedCalls(calls []llm.ToolCall) (out []ExchangedCall) {
	for _, c := range calls {
		out = append(out, ExchangedCall{c.Name, c.Arguments})
	}
	return out
}

// maxTurns is the number of turns of one response.
const maxTurns = 200

func (g *Gateway) listTurns(ctx context.Context, in *struct {
	ConversationPath
	From  int `query:"from" default:"1" minimum:"1" maximum:"2147483000" doc:"Number of the first turn"`
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"200"`
}) (*bodyOf[TurnList], error) {
	turns, err := g.Explore.Turns(ctx, workspace(ctx), in.ID, in.From, in.From+min(in.Limit, maxTurns)-1)
	out := &bodyOf[TurnList]{TurnList{[]ConversationTurn{}}}
	for _, t := range turns {
		out.Body.Turns = append(out.Body.Turns, ConversationTurn(t))
	}
	return out, err
}

func evidenceBody(all []inspect.Excerpt, err error) (*bodyOf[EvidenceList], error) {
	out := &bodyOf[EvidenceList]{EvidenceList{[]EvidenceExcerpt{}}}
	for _, e := range all {
		out.Body.Evidence = append(out.Body.Evidence, EvidenceExcerpt(e))
	}
	return out, err
}

func (g *Gateway) memoryEvidence(ctx context.Context, in *MemoryPath) (*bodyOf[EvidenceList], error) {
	e, err := g.entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return evidenceBody(g.Explore.EvidenceOf(ctx, workspace(ctx), e.Evidence))
}

func (g *Gateway) skillEvidence(ctx context.Context, in *struct {
	SkillPath
	Version int `query:"version" minimum:"0" maximum:"2147483647" doc:"Default: the active version"`
}) (*bodyOf[EvidenceList], error) {
	_, v, err := g.version(ctx, in.ID, in.Version)
	if err != nil {
		return nil, err
	}
	return evidenceBody(g.Explore.Evidence(ctx, workspace(ctx), v.Sources))
}

// BankScoreList holds scores by day, the earliest first.
type BankScoreList struct {
	Scores []BankScore `json:"scores"`
}

func (g *Gateway) bankScores(ctx context.Context, in *BankPath) (*bodyOf[BankScoreList], error) {
	s, err := g.Workspaces.Settings(ctx, workspace(ctx))
	if err != nil {
		return nil, err
	}
	if _, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, 0); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	scores, err := g.Explore.Scores(ctx, workspace(ctx), in.Name, zone)
	out := &bodyOf[BankScoreList]{BankScoreList{[]BankScore{}}}
	for _, one := range scores {
		out.Body.Scores = append(out.Body.Scores, BankScore(one))
	}
	return out, err
}

// SkillUseList is a page of the uses of a skill, the latest first.
type SkillUseList struct {
	Uses       []SkillUse `json:"uses"`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

func (g *Gateway) skillUses(ctx context.Context, in *struct {
	SkillPath
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`
}) (*bodyOf[SkillUseList], error) {
	head, _, err := g.version(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	uses, next, err := g.Explore.Uses(ctx, workspace(ctx), head.ID, in.Cursor, in.Limit)
	out := &bodyOf[SkillUseList]{SkillUseList{[]SkillUse{}, next}}
	for _, u := range uses {
		out.Body.Uses = append(out.Body.Uses, SkillUse(u))
	}
	return out, err
}

func (g *Gateway) memoryViews(ctx context.Context, in *struct {
	MemoryPath
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[MemoryViewList], error) {
	if _, err := g.entry(ctx, in.ID); err != nil {
		return nil, err
	}
	views, next, err := g.Explore.Views(ctx, workspace(ctx), in.ID, in.Cursor, in.Limit)
	out := &bodyOf[MemoryViewList]{MemoryViewList{[]MemoryView{}, next}}
	for _, v := range views {
		out.Body.Views = append(out.Body.Views, MemoryView(v))
	}
	return out, err
}

func (g *Gateway) browseMemories(ctx context.Context, in *struct {
	Type   string    `query:"type" enum:"core,profile,personal,procedural,tool,summary,note"`
	Status string    `query:"status" enum:"active,superseded,removed,quarantined" doc:"As it is now; default: all. Not with as_of"`
	Origin string    `query:"origin" enum:"user,agent,nudge,reflection,distill,designer,import" doc:"Not with as_of"`
	Target string    `query:"target" maxLength:"200"`
	AsOf   time.Time `query:"as_of" doc:"What was known at this time"`
	Limit  int       `query:"limit" default:"50" minimum:"1" maximum:"1000"`
	Cursor string    `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[BrowsedMemories], error) {
	page, next, err := g.Explore.Memories(ctx, workspace(ctx), readmodel.MemoryFilter{Type: in.Type, Status: in.Status,
		Origin: in.Origin, Target: in.Target, AsOf: in.AsOf}, in.Cursor, in.Limit)
	out := &bodyOf[BrowsedMemories]{BrowsedMemories{Memories: []BrowsedMemory{}, NextCursor: next}}
	for _, m := range page {
		out.Body.Memories = append(out.Body.Memories, BrowsedMemory(m))
	}
	return out, err
}

func (g *Gateway) showUsage(ctx context.Context, in *struct {
	From string `query:"from" format:"date" doc:"First local date; default: 29 days before to"`
	To   string `query:"to" format:"date" doc:"Last local date; default: today"`
}) (*bodyOf[UsageList], error) {
	s, err := g.Workspaces.Settings(ctx, workspace(ctx))
	if err != nil {
		return nil, err
	}
	from, to, err := inspect.Days(s.TimeZone, in.From, in.To)
	if err != nil {
		return nil, err
	}
	usage, err := g.Explore.Usage(ctx, workspace(ctx), from.Location(), from, to)
	out := &bodyOf[UsageList]{UsageList{[]ModelUsage{}}}
	for _, u := range usage {
		out.Body.Usage = append(out.Body.Usage, ModelUsage(u))
	}
	return out, err
}

func (g *Gateway) listOutbox(ctx context.Context, in *struct {
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[OutboxList], error) {
	tasks, next, err := g.Explore.Outbox(ctx, workspace(ctx), in.Cursor, in.Limit)
	out := &bodyOf[OutboxList]{OutboxList{[]OutboxTask{}, next}}
	for _, t := range tasks {
		out.Body.Tasks = append(out.Body.Tasks, OutboxTask(t))
	}
	return out, err
}

func (g *Gateway) retryOutboxTask(ctx context.Context, in *struct {
	ID int64 `path:"id" minimum:"1" doc:"The task's number"`
}) (*struct{}, error) {
	return nil, g.Explore.RetryOutbox(ctx, workspace(ctx), in.ID)
}

func (g *Gateway) listConsoleSessions(ctx context.Context, _ *struct{}) (*bodyOf[ConsoleSessionList], error) {
	all, err := g.Sessions.List(ctx, workspace(ctx))
	out := &bodyOf[ConsoleSessionList]{ConsoleSessionList{[]ConsoleSession{}}}
	for _, s := range all {
		out.Body.Sessions = append(out.Body.Sessions, ConsoleSession(s))
	}
	return out, err
}

func (g *Gateway) endConsoleSession(ctx context.Context, in *struct {
	ID int64 `path:"id" minimum:"1" doc:"The session's number"`
}) (*struct{}, error) {
	return nil, g.Sessions.End(ctx, workspace(ctx), in.ID)
}
