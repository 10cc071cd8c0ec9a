// Package chatcommand runs the commands that users of chat platforms send, such as /memory. They act in the workspace
// of the user or group, through the services that HTTP and the command line use.
package chatcommand

import (
	"context"

	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	"cairn/internal/service/inbox"
	"cairn/internal/service/inspect"
	"cairn/internal/service/library"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
)

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
	Conversations *inspect.Conversations
	Skills        *library.Library
	Memories      *memories.PromptService
	Inbox         *inbox.Service
	LongTerm      *memories.LongTermService
	Workspaces    *inspect.Workspaces
	Runs          *inspect.Runs
	Schedules     *schedule.Service
	Distills      *distill.Service
	DistillSpec   func() distill.Spec
	Summaries     *memoryagent.Service
	TurnSpec      func() agentrun.Spec
	Reflections   *reflection.Requests
	Starter       Starter // nil without Temporal
	Links         Links
}

// Service runs commands.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{p}
}
