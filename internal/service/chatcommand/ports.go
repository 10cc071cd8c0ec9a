// Package chatcommand runs the commands that users of chat platforms send, such as /memory. They act in the workspace
// of the user or group, through the services that HTTP and the command line use.
package chatcommand

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/domain/settings"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	"cairn/internal/service/inbox"
	"cairn/internal/service/inspect"
	"cairn/internal/service/library"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/reflection"
)

// Conversations reads conversations and cancels turns.
type Conversations interface {
	Cancel(ctx context.Context, ws access.Workspace, name, message string) (asked bool, err error)
	Lines(ctx context.Context, ws int64, name string, after, max int) ([]conversation.Line, error)
}

// Skills lists skills.
type Skills interface {
	List(ctx context.Context, ws int64, f library.Filter) (library.Page, error)
}

// Memories reads and writes the memories of prompts and the soul.
type Memories interface {
	List(ctx context.Context, a agent.Actor, in memories.ListArgs) (memories.Listing, error)
	Save(ctx context.Context, a agent.Actor, in memories.SaveArgs) (memories.WriteResult, error)
	Remove(ctx context.Context, a agent.Actor, in memories.RemoveArgs) (memories.WriteResult, error)
	Search(ctx context.Context, a agent.Actor, in memories.SearchArgs) (memories.SearchResult, error)
	SoulGet(ctx context.Context, a agent.Actor) (memory.Soul, error)
}

// Inbox lists what waits for a person, and decides about it.
type Inbox interface {
	List(ctx context.Context, a agent.Actor, max int) ([]inbox.Item, error)
	Approve(ctx context.Context, a agent.Actor, id string, d approval.Decision) (inbox.Outcome, error)
	Reject(ctx context.Context, a agent.Actor, id string) (inbox.Outcome, error)
}

// LongTerm deletes long-term memories.
type LongTerm interface {
	DeleteMemories(ctx context.Context, a agent.Actor, in []memories.DeleteRequest) ([]memories.ItemResult, error)
}

// Workspaces reads and changes settings.
type Workspaces interface {
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
	ChangeSettings(ctx context.Context, ws int64, patch json.RawMessage) (settings.Settings, error)
	Insights(ctx context.Context, ws int64, days int) (readmodel.Insights, error)
}

// Runs lists runs.
type Runs interface {
	List(ctx context.Context, ws int64, max int) ([]run.Summary, error)
	Report(ctx context.Context, ref run.Ref) (inspect.RunReport, error)
}

// Schedules lists scheduled tasks.
type Schedules interface {
	List(ctx context.Context, ws int64) ([]scheduled.Task, error)
}

// Distills starts the distillation of a conversation.
type Distills interface {
	Accept(ctx context.Context, r distill.Request) (run.Run, bool, error)
}

// Summaries starts the extraction of long-term memories from a conversation.
type Summaries interface {
	Summarize(ctx context.Context, r memoryagent.Request) (run.Run, error)
}

// Reflections starts reflections.
type Reflections interface {
	Now(ctx context.Context, ws access.Workspace, of reflection.DateRequest) (reflection.OpenResult, error)
}

// Starter starts the workflow of a stored run.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// Links joins users of several platforms.
type Links interface {
	LinkCode(ctx context.Context, account, user, name string) (string, error)
	Link(ctx context.Context, account, user, code string) (workspace string, err error)
}

// Ports are the dependencies of the commands.
type Ports struct {
	Conversations Conversations
	Skills        Skills
	Memories      Memories
	Inbox         Inbox
	LongTerm      LongTerm
	Workspaces    Workspaces
	Runs          Runs
	Schedules     Schedules
	Distills      Distills
	DistillSpec   func() distill.Spec
	Summaries     Summaries
	TurnSpec      func() agentrun.Spec
	Reflections   Reflections
	Starter       Starter // nil without Temporal
	Links         Links
}

// Service runs commands.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("chat commands", map[string]any{
		"Conversations": p.Conversations,
		"Skills":        p.Skills,
		"Memories":      p.Memories,
		"Inbox":         p.Inbox,
		"LongTerm":      p.LongTerm,
		"Workspaces":    p.Workspaces,
		"Runs":          p.Runs,
		"Schedules":     p.Schedules,
		"Distills":      p.Distills,
		"DistillSpec":   p.DistillSpec,
		"Summaries":     p.Summaries,
		"TurnSpec":      p.TurnSpec,
		"Reflections":   p.Reflections,
		"Links":         p.Links,
	})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}
